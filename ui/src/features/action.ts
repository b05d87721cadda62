/** Effects and their states in words and colours: shared by timeline, approvals, evidence and duplicates. */
import type { IconName } from '../components/Icon.svelte';
import type { Tone } from '../components/Chip.svelte';
import { t, word } from '../i18n/index.svelte';
import type { Chip, EffectState, EvidenceRow, Mark } from '../ipc/bindings';

/** What a tool does, as the title of its card. */
export function toolTitle(tool: string): string {
  const known = word('tool', tool);
  return known === tool ? tool.replace('__', ' · ') : known;
}

export function toolIcon(tool: string): IconName {
  if (tool === 'send_email') return 'mail';
  if (tool.endsWith('_event')) return 'calendar';
  return 'bolt';
}

const CHIP_TONES: Record<Chip, Tone> = {
  read: 'plain',
  running: 'plain',
  done: 'good',
  saved: 'good',
  duplicate: 'dup',
  differs: 'dup',
  needs_approval: 'wait',
  queued: 'plain',
  unknown: 'wait',
  denied: 'plain',
  failed: 'bad',
  cancelled: 'plain',
  reverted: 'plain',
};

export function chipTone(chip: Chip): Tone {
  return CHIP_TONES[chip];
}

export function chipText(chip: Chip, differing: string[]): string {
  if (chip === 'differs' && differing.length > 0) {
    return t('chip.differs_in', { fields: differing.map((field) => word('difference', field)).join(', ') });
  }
  return t(`chip.${chip}`);
}

const STATE_TONES: Record<EffectState, Tone> = {
  awaiting_approval: 'wait',
  ready: 'plain',
  dispatching: 'plain',
  retryable: 'wait',
  unknown: 'wait',
  accepted: 'good',
  rejected: 'bad',
  denied: 'plain',
  expired: 'plain',
  cancelled: 'plain',
  reverted: 'plain',
};

export function stateTone(state: EffectState): Tone {
  return STATE_TONES[state];
}

/** The state in words; a file is never called sent. */
export function stateText(row: Pick<EvidenceRow, 'state' | 'partial' | 'saved_as_file' | 'left_by_person' | 'hold_until'>): string {
  if (row.state === 'accepted' && row.saved_as_file) return t('state.saved_as_file');
  if (row.state === 'accepted' && row.partial) return t('state.partial');
  if (row.state === 'unknown' && row.left_by_person) return t('state.left');
  if (row.state === 'ready' && row.hold_until !== null) return t('state.hold');
  return t(`state.${row.state}`);
}

export function markIcon(mark: Mark): IconName {
  const icons: Record<Mark, IconName> = {
    new_recipient: 'flag',
    untrusted_target: 'alert',
    stale: 'clock',
    near_duplicate: 'duplicates',
    repeat: 'repeat',
    guests: 'users',
  };
  return icons[mark];
}
