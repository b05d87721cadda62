/** The catalogue is complete, used, and the only place with words; only one file knows the shell. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'svelte/compiler';
import { expect, it } from 'vitest';

import { en, parts as english } from '../i18n/en';
import { es, parts as spanish } from '../i18n/es';

const SRC = join(import.meta.dirname, '..');
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => !name.includes('testing') && !name.includes('fake'));
const components = files.filter((name) => name.endsWith('.svelte'));
const sources = files.filter((name) => /\.(svelte|ts)$/.test(name) && !/i18n\/(en|es)\//.test(name));
const read = (name: string) => readFileSync(join(SRC, name), 'utf8');

it('has the same keys and the same placeholders in both languages', () => {
  expect(Object.keys(es).sort()).toEqual(Object.keys(en).sort());
  const holes = (message: unknown) => [...new Set(JSON.stringify(message).match(/\{\w+\}/g) ?? [])].sort();
  for (const key of Object.keys(en) as (keyof typeof en)[]) expect([key, holes(es[key])]).toEqual([key, holes(en[key])]);
});

it.each([['en', english], ['es', spanish]])('tells each key of %s in one part only', (_, parts) => {
  const keys = Object.values(parts).flatMap((part) => Object.keys(part));
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
});

it('has no empty and no forgotten word', () => {
  const text = sources.map(read).join('\n');
  const prefixes = [...text.matchAll(/(?:word\(\s*(?:[^'`)]*\? )?|t\(`)'?([a-z_]+)[.'$]/g)].map((match) => match[1]);
  const used = new Set([...text.matchAll(/'([a-z_]+(?:\.[a-z_]+)*)'/g)].map((match) => match[1]));
  const dynamic = new Set([...prefixes, ...[...text.matchAll(/'([a-z_]+)'/g)].map((match) => match[1]), ...[...text.matchAll(/`([a-z_]+)[._]/g)].map((match) => match[1])]);
  const forgotten = Object.keys(en).filter((key) => !used.has(key) && !dynamic.has(key.split('.')[0]?.replace(/^status_.*/, 'status')));
  expect(forgotten).toEqual([]);
  for (const [key, message] of [...Object.entries(en), ...Object.entries(es)]) expect([key, JSON.stringify(message).length > 2]).toEqual([key, true]);
});

/** Words in markup: text nodes with letters, and attributes that people read. */
function hardCoded(name: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null) return;
    const one = node as { type?: string; name?: string; data?: string; value?: unknown };
    if (one.type === 'RegularElement' && (one.name === 'code' || one.name === 'pre')) return;
    if (one.type === 'StyleDirective') return;
    if (one.type === 'Text' && /\p{L}{2,}/u.test(one.data ?? '')) found.push((one.data ?? '').trim());
    if (one.type === 'Attribute') {
      if (/^(title|placeholder|alt|aria-label)$/.test(one.name ?? '')) visit(one.value);
      else if (Array.isArray(one.value)) visit(one.value.filter((part: { type?: string }) => part.type !== 'Text'));
      return;
    }
    for (const [key, value] of Object.entries(one)) if (key !== 'css' && key !== 'instance' && key !== 'module') visit(value);
  };
  visit(parse(read(name), { modern: true }).fragment);
  // A product name, an address pattern and a unit are the same in every language.
  return found.filter((text) => !/^(Unavez|KB|https?:\/\/\S+)$/.test(text));
}

it.each(components)('%s has no hard-coded words', (name) => {
  expect(hardCoded(name)).toEqual([]);
});

it('notices a hard-coded word', () => {
  const fragment = parse('<p title="Hello">{#if a}World{/if}</p>', { modern: true });
  expect(JSON.stringify(fragment)).toContain('World');
});

it('never draws markup from a string', () => {
  for (const name of components) expect([name, read(name).includes('@html')]).toEqual([name, false]);
});

it('knows the shell in one file only', () => {
  expect(sources.filter((name) => read(name).includes('@tauri-apps'))).toEqual(['ipc/tauri.ts']);
});
