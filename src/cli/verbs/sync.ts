import { parseStreams } from '../arguments.ts';
import { runningStreams } from '../run-verb.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly force?: true; readonly allowMassDelete?: true };

export const sync: Verb<Flags> = {
  name: 'sync',
  about: 'sync all streams or the named ones once, then exit',
  hasStreams: true,
  options: [
    ['--force', 'send requests also when no record can have changed yet (the training cache)'],
    ['--allow-mass-delete', 'accept a snapshot that the delete guard would refuse'],
  ],
  common: ['accounts', 'liftPrivacy', 'json'],
  ...runningStreams<Flags>(({ force, allowMassDelete }, names) => {
    const streams = parseStreams(names);
    return { kind: 'sync', streamsOf: () => streams, force, allowMassDelete };
  }),
};
