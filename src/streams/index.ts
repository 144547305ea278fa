/** The only registry of streams. */
import { equipmentsStream } from './equipments.ts';
import { followupsStream } from './followups.ts';
import { resourcesStream } from './resources.ts';
import type { StreamDefinition, StreamName } from './stream.ts';
import { trainingEmployeeStatusStream } from './training-employee-status.ts';
import { usersStream } from './users.ts';

/** In the order in which they are listed; `users` runs after the others, whose ids it looks up. */
export const STREAMS: readonly StreamDefinition[] = [
  resourcesStream,
  followupsStream,
  trainingEmployeeStatusStream,
  equipmentsStream,
  usersStream,
];

export const STREAM_NAMES: readonly StreamName[] = STREAMS.map((stream) => stream.name);

export function streamNamed(
  name: StreamName,
  streams: readonly StreamDefinition[] = STREAMS,
): StreamDefinition {
  const stream = streams.find((candidate) => candidate.name === name);
  if (stream === undefined) throw new RangeError(`no stream is named ${name}`);
  return stream;
}
