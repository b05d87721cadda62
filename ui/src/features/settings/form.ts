/** Reading and writing of single settings, shared by the settings pages and the wizard. */
import type { Settings, TestResult } from '../../ipc/bindings';
import type { AppState } from '../../state/app.svelte';

export function textOf(settings: Settings, key: string): string {
  const value = settings.values[key];
  return value === null || value === undefined ? '' : String(value);
}

export function flagOf(settings: Settings, key: string): boolean {
  return settings.values[key] === true;
}

export async function change(app: AppState, values: Record<string, unknown>): Promise<boolean> {
  return (await app.act('change_settings', { change: { values } })) !== undefined;
}

export type TestCommand = 'test_model' | 'test_telegram' | 'test_mail' | 'test_calendar';

export type TestState = { state: 'idle' } | { state: 'running' } | { state: 'done'; result: TestResult };
