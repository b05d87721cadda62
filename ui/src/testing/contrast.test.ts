/** Every text colour on every surface it is used on: WCAG 2.2 AA, 4.5:1, in both themes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

const css = readFileSync(join(import.meta.dirname, '../tokens.css'), 'utf8');

function tokens(block: string): Record<string, string> {
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map((match) => [match[1] ?? '', match[2] ?? '']));
}

function luminance(hex: string): number {
  const parts = [1, 3, 5].map((from) => Number.parseInt(hex.slice(from, from + 2), 16) / 255);
  const [r, g, b] = parts.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

function ratio(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

const light = tokens(css.split("[data-theme='dark']")[0] ?? '');
const dark = { ...light, ...tokens(css.split("[data-theme='dark']")[1] ?? '') };
const PAIRS: [string, string[]][] = [
  ['ink', ['paper', 'rail', 'card', 'said', 'dup-soft']],
  ['ink-2', ['paper', 'rail', 'card', 'said', 'accent-soft']],
  ['ink-3', ['paper', 'rail', 'card']],
  ['accent-strong', ['paper', 'card', 'accent-soft']],
  ['accent-ink', ['accent', 'accent-strong']],
  ['wait', ['paper', 'card', 'wait-soft']],
  ['bad', ['paper', 'card', 'bad-soft']],
  ['dup', ['paper', 'card', 'dup-soft']],
  ['card', ['wait-solid']],
];

it.each([['light', light], ['dark', dark]] as const)('is readable in %s', (_, theme) => {
  for (const [text, surfaces] of PAIRS) {
    for (const surface of surfaces) {
      const found = ratio(theme[text] ?? '', theme[surface] ?? '');
      expect([text, surface, found >= 4.5 ? 'ok' : found.toFixed(2)]).toEqual([text, surface, 'ok']);
    }
  }
});
