/** Words for streams in sentences; tables, logs and commands have their names. */
const WORDS: Readonly<Record<string, string>> = {
  resources: 'documents',
  followups: 'follow-ups',
  'training-employee-status': 'training',
  'completed-trainings': 'completed trainings',
  equipments: 'equipment',
  users: 'names of people',
};

/** A stream that is not here is named as it is: `names`. */
export const streamWords = (stream: string): string => WORDS[stream] ?? stream;

/** `follow-ups are`, `training is` */
export const isOrAre = (streams: readonly string[]): 'is' | 'are' =>
  streams.length === 1 && !/s\b/.test(streamWords(streams[0] ?? '')) ? 'is' : 'are';
