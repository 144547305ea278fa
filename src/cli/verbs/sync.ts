import { formatCount } from '../../shared/format.ts';
import { parseStreams, TAKES_STREAMS } from '../arguments.ts';
import type { AccountResult } from '../run-results.ts';
import { runningStreams } from '../run-accounts.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly force?: true; readonly allowMassDelete?: true };

export const sync: Verb<Flags> = {
  about: 'sync all streams or the named ones once, then exit',
  takes: TAKES_STREAMS,
  options: [
    ['--force', 'send requests also when no record can have changed yet (the training cache)'],
    ['--allow-mass-delete', 'accept a snapshot that the delete guard would refuse'],
  ],
  common: ['accounts', 'liftPrivacy', 'json'],
  ...runningStreams<Flags>(({ force, allowMassDelete }, names) => {
    return { kind: 'sync', streams: parseStreams(names), force, allowMassDelete };
  }),
};

/** The verdict on the syncs before it. Streams with full reads at every sync cannot miss a change. */
function describeFound({ stream, outcome, repaired }: AccountResult): string[] {
  if (outcome !== 'succeeded' || repaired === null) return [];
  return [
    repaired === 0
      ? `${stream}: no sync had missed anything`
      : `${stream}: repaired ${formatCount(repaired)} that an earlier sync should have brought; please report this`,
  ];
}

export const reconcile: Verb<Flags> = {
  about: 'full refresh: find deletions of follow-ups and changes that syncs missed; print what was repaired',
  takes: TAKES_STREAMS,
  options: [['--allow-mass-delete', 'accept a full refresh that the delete guard would refuse']],
  common: ['accounts', 'liftPrivacy', 'json'],
  ...runningStreams<Flags>(({ allowMassDelete }, names) => {
    return { kind: 'reconcile', streams: parseStreams(names), allowMassDelete, describe: describeFound };
  }),
};
