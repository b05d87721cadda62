/** Every view in both languages: it draws, it names everything, it has its empty and its error state. */
import { cleanup, screen } from '@testing-library/svelte';
import { afterEach, describe, expect, it } from 'vitest';

import { VIEWS } from '../state/app.svelte';
import { open, settle, violations, words } from './window';

afterEach(cleanup);

describe.each(['es', 'en'] as const)('in %s', (language) => {
  it.each(VIEWS)('%s has no accessibility violation', async (view) => {
    await open({ language }, view);
    expect(document.documentElement.lang).toBe(language);
    expect(await violations()).toEqual([]);
  });

  it.each(VIEWS)('%s says something when there is nothing', async (view) => {
    await open({ language, data: 'empty', practice: true }, view);
    expect(await violations()).toEqual([]);
    const said: Partial<Record<(typeof VIEWS)[number], string>> = {
      conversations: words('first.practice'),
      approvals: words('approval.none'),
      evidence: words('evidence.none'),
      duplicates: words('duplicate.none'),
      calendar: words('calendar.none_week'),
      activity: words('activity.none'),
    };
    const text = said[view];
    if (text) expect(screen.getByText(text)).toBeInTheDocument();
  });

  it.each(VIEWS)('%s says what failed and offers to try again', async (view) => {
    await open({ language, failing: 'all' }, view);
    expect(screen.getAllByText(new RegExp(words('failure.storage').slice(0, 20))).length).toBeGreaterThan(0);
    expect(screen.getAllByRole('button', { name: words('trouble.retry') }).length).toBeGreaterThan(0);
    expect(await violations()).toEqual([]);
  });
});

it('starts again after a failing start', async () => {
  const host = await open({ failing: ['snapshot'] });
  expect(screen.getByText(words('start.failed'))).toBeInTheDocument();
  expect(host.calls.filter((call) => call.name === 'snapshot')).toHaveLength(1);
  screen.getByRole('button', { name: words('trouble.retry') }).click();
  await settle();
  expect(host.calls.filter((call) => call.name === 'snapshot')).toHaveLength(2);
});
