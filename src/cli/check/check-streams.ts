import type { App } from '../../app.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { readProblems } from '../../operate/worker/what-is-wrong.ts';
import { type Check, skipped } from './finding.ts';

/** The problems that `status` and the page show, but those with settings, which have a check of their own. A problem of a run is no failure of the configuration. */
export async function checkStreams(app: App): Promise<Check[]> {
  const { problems } = await readProblems(app);
  const lasting = problems.filter(({ kind, level }) => kind !== 'differs' && level !== 'busy');
  return describeProblems(lasting).map(({ text, problem: { isFailure } }) => ({
    ...skipped('streams', text),
    ...(isFailure && { remark: 'streams have problems' }),
  }));
}
