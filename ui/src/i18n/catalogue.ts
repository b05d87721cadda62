/** What a catalogue is. English names the keys; every other language has exactly the same. */
import type { en } from './en';

export type Key = keyof typeof en;
/** Words, or two forms that the number `n` chooses from. */
export type Message = string | { one: string; other: string };
export type Translation<Words> = Record<keyof Words, Message>;
export type Catalogue = Translation<typeof en>;
