/** The only registry of streams. */
import { completedTrainingsStream } from './completed-trainings.ts';
import { equipmentsStream } from './equipments.ts';
import { followupsStream } from './followups.ts';
import { resourcesStream } from './resources.ts';
import { namesStream } from './names.ts';
import type { StreamDefinition, StreamName } from './stream.ts';
import { trainingEmployeeStatusStream } from './training-employee-status.ts';
import { usersStream } from './users.ts';

/** The order is that of listings; `users` runs after the others, because it looks up their ids. */
export const STREAMS: readonly StreamDefinition[] = [
  resourcesStream,
  followupsStream,
  trainingEmployeeStatusStream,
  equipmentsStream,
  completedTrainingsStream,
  namesStream,
  usersStream,
];

export const STREAM_NAMES: readonly StreamName[] = STREAMS.map((stream) => stream.name);

export function streamNamed(name: StreamName): StreamDefinition {
  const stream = STREAMS.find((candidate) => candidate.name === name);
  if (stream === undefined) throw new RangeError(`no stream is named ${name}`);
  return stream;
}

/** It looks up ids that the account's other streams meet, so it runs after them. */
export const runsLast = (stream: StreamName): boolean => streamNamed(stream).readMode.kind === 'people';

/** A stream in a sentence. */
export const streamWords = (stream: StreamName): string => streamNamed(stream).contents;
