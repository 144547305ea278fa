import { parseStreams } from '../arguments.ts';
import { runningStreams } from '../run-accounts.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly force?: true; readonly allowMassDelete?: true };

export const sync: Verb<Flags> = {
  about: 'sync all streams or the named ones once, then exit',
  options: [
    ['--force', 'send requests also when no record can have changed yet (the training cache)'],
    ['--allow-mass-delete', 'accept a snapshot that the delete guard would refuse'],
  ],
  ...runningStreams<Flags>(({ force, allowMassDelete }, names) => {
    return { kind: 'sync', streams: parseStreams(names), force, allowMassDelete };
  }),
};

export const reconcile: Verb<Flags> = {
  about: 'full refresh: find deletions of follow-ups and changes that syncs missed; print what was repaired',
  options: [['--allow-mass-delete', 'accept a full refresh that the delete guard would refuse']],
  ...runningStreams<Flags>(({ allowMassDelete }, names) => {
    return { kind: 'reconcile', streams: parseStreams(names), allowMassDelete };
  }),
};
