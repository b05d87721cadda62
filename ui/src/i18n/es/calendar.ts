/** The calendar, en español. */
import type { Translation } from '../catalogue';
import type { calendar as words } from '../en/calendar';

export const calendar: Translation<typeof words> = {
  'calendar.before': 'Antes',
  'calendar.after': 'Después',
  'calendar.today': 'Hoy',
  'calendar.span': 'Vista',
  'calendar.week': 'Semana',
  'calendar.day': 'Día',
  'calendar.local': 'Este calendario vive solo en este ordenador; puedes pasarlo a una cuenta más adelante.',
  'calendar.connect': 'Conectar una cuenta',
  'calendar.stale': 'Se muestra lo último que se leyó.',
  'calendar.ours': 'Lo creó Unavez',
  'calendar.not_ours': 'No lo creó Unavez: no se toca desde aquí.',
  'calendar.recurring': 'Se repite',
  'calendar.undo': 'Deshacer',
  'calendar.none_week': 'Nada esta semana',
  'calendar.none_day': 'Nada este día',
  'calendar.backend': 'Dónde vive el calendario',
  'calendar.local_option': 'En este ordenador',
  'calendar.caldav': 'Servidor CalDAV',
  'calendar.google': 'Google Calendar',
  'calendar.local_note': 'Vive solo aquí y no se comparte. Podrás pasarlo a una cuenta más adelante.',
  'calendar.account_note': 'Los eventos que crees van a ese servidor.',
  'calendar.url': 'Dirección del servidor',
  'calendar.name': 'Calendario',
  'calendar.name_note': 'Vacío: el primero en el que se pueda escribir.',
  'calendar.look': 'Mirar antes de crear',
  'calendar.look_note': 'Si el evento ya está en el calendario, quien sea que lo creara, no se crea otra vez.',
  'calendar.test': 'Probar el calendario',
};
