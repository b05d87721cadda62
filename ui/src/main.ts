import './fonts.css';
import './tokens.css';
import './base.css';

import { mount } from 'svelte';

import App from './App.svelte';
import { insideShell, tauriHost } from './ipc/tauri';
import type { Host } from './ipc/host';

/** The shell's host; in development and for pictures, a fake that is not part of the shipped bundle. */
async function host(): Promise<Host> {
  if (import.meta.env.MODE === 'production' || insideShell()) return tauriHost;
  return (await import('./ipc/fake')).fakeFromLocation(window.location.search);
}

const target = document.getElementById('app');
if (target) mount(App, { target, props: { host: await host() } });
