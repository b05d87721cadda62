/** The whole window over the fake host. */
import { render, screen } from '@testing-library/svelte';
import axe from 'axe-core';
import { tick } from 'svelte';

import App from '../App.svelte';
import { t, type Key, type Params } from '../i18n/index.svelte';
import { FakeHost, type FakeOptions } from '../ipc/fake';
import type { View } from '../state/app.svelte';

export async function settle(): Promise<void> {
  for (let round = 0; round < 8; round++) {
    await tick();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

export async function open(options: FakeOptions = {}, view?: View): Promise<FakeHost> {
  const host = new FakeHost(options);
  render(App, { host });
  await settle();
  if (view) {
    press(t(`view.${view}`));
    await settle();
  }
  return host;
}

/** Presses a button by its words; the first one when there are several. */
export function press(name: string | RegExp): void {
  const found = screen.getAllByRole('button', { name: typeof name === 'string' ? new RegExp(`^${escape(name)}`) : name });
  found[0]?.click();
}

export const words = (key: Key, params?: Params) => t(key, params);

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function key(name: string): void {
  window.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
}

/** Violations in words. Colours are checked apart: jsdom has no layout. */
export async function violations(): Promise<string[]> {
  const result = await axe.run(document.body, {
    rules: { 'color-contrast': { enabled: false }, region: { enabled: false } },
  });
  return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
}
