/** Answers "is everything fresh?" in one sentence, from the list of problems. Pure. */
import { capital, formatCount, formatNumber } from '../../shared/format.ts';
import type { StreamStatus } from './facts.ts';
import { describeProblems } from './problem-words.ts';
import type { Problem } from './problem.ts';

/** States from best to worst. */
export type Level = 'good' | 'busy' | 'warning' | 'bad';

export interface Verdict {
  readonly level: Level;
  readonly sentence: string;
  /** Each problem in full. */
  readonly details: readonly string[];
}

interface Judged {
  /** Those of one account, if they were read. */
  readonly streams?: readonly StreamStatus[];
  readonly isRead?: boolean;
  /** The levels of several accounts. */
  readonly counts?: Readonly<Record<Level, number>>;
}

function judgeCounts(counts: Readonly<Record<Level, number>>): Pick<Verdict, 'level' | 'sentence'> {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const share = (count: number): string => `${formatCount(count)} of ${formatNumber(total, 'account')}`;
  const { bad, busy, warning } = counts;
  if (bad > 0) return { level: 'bad', sentence: `${share(bad)} ${bad === 1 ? 'is' : 'are'} unhealthy.` };
  if (warning > 0)
    return {
      level: 'warning',
      sentence: `${share(warning)} ${warning === 1 ? 'has a warning' : 'have warnings'}.`,
    };
  return busy > 0
    ? { level: 'busy', sentence: 'First syncs are under way.' }
    : { level: 'good', sentence: 'Everything is fresh.' };
}

const isFirstSync = ({ kind, level }: Problem): boolean => kind === 'never_synced' && level !== 'bad';

export function judge(problems: readonly Problem[], { streams, isRead = true, counts }: Judged): Verdict {
  const described = describeProblems(problems);
  // A first sync is a state of its own: see below.
  const firstOf = (level: Problem['level']): string | undefined =>
    described.find(({ problem }) => problem.level === level && !isFirstSync(problem))?.what;
  const details = described.flatMap(({ problem, text }) => (isFirstSync(problem) ? [] : [text]));
  const [bad, warning, busy] = [firstOf('bad'), firstOf('warning'), firstOf('busy')];
  const to = (level: Level, text: string): Verdict => ({ level, sentence: `${capital(text)}.`, details });
  if (bad !== undefined) return to('bad', bad);
  if (busy !== undefined) return to('busy', busy);
  if (counts !== undefined) {
    const judged = judgeCounts(counts);
    if (warning === undefined || judged.level === 'bad') return { ...judged, details };
    return to('warning', `${judged.sentence.replace(/\.$/, '')}, but ${warning}`);
  }
  if (!isRead) return to('busy', 'not read yet');
  if (streams?.some(({ isScheduled }) => isScheduled) === false)
    return to('warning', 'no stream is scheduled');
  const isFirst = problems.some((one) => isFirstSync(one) && one.isReason);
  const state = isFirst ? 'the first sync is under way' : 'everything is fresh';
  if (warning !== undefined) return to('warning', `${state}, but ${warning}`);
  return to(isFirst ? 'busy' : 'good', state);
}
