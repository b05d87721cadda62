/** English, feature by feature. Its keys are the keys of every catalogue. */
import { actions } from './actions';
import { activity } from './activity';
import { approvals } from './approvals';
import { calendar } from './calendar';
import { conversations } from './conversations';
import { duplicates } from './duplicates';
import { evidence } from './evidence';
import { frame } from './frame';
import { settings } from './settings';
import { wizard } from './wizard';

/** Part by part, so that a key told twice can be found. */
export const parts = { actions, activity, approvals, calendar, conversations, duplicates, evidence, frame, settings, wizard };

export const en = {
  ...actions,
  ...activity,
  ...approvals,
  ...calendar,
  ...conversations,
  ...duplicates,
  ...evidence,
  ...frame,
  ...settings,
  ...wizard,
};
