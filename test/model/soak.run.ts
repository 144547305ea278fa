/** Histories without a time limit. Run with `npm run soak`. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createCli, type Cli } from '../support/cli.ts';
import { noTally, play } from './play.ts';
import { history } from './step.ts';

const { SOAK_HISTORIES = '0', SOAK_SEED = '1', SOAK_PATH, SOAK_KILLS } = process.env;
const LONGEST = 40;
const PROGRESS_EVERY = 10;
const withKills = SOAK_KILLS === 'true';

let cli: Cli | undefined;
afterAll(() => cli?.close());

test.runIf(Number(SOAK_HISTORIES) > 0)(
  'after each random history the next sync makes the warehouse equal to the source',
  async () => {
    if (withKills) cli = await createCli();
    const tally = noTally();
    const startedMs = performance.now();
    const summary = () =>
      `${tally.histories} histories, ${tally.runs} runs (${tally.failedRuns} of them failed as they should), ${tally.kills} workers killed, ${tally.terminated} database sessions ended, ${Math.round((performance.now() - startedMs) / 1000)} s`;
    await fc.assert(
      fc.asyncProperty(history({ kills: withKills, longest: LONGEST }), async (one) => {
        try {
          await play(one, tally, { cli });
        } catch (error) {
          process.stdout.write(
            `soak: fails (${String(error).slice(0, 300)}), looking for a shorter history\n`,
          );
          throw error;
        }
        if (tally.histories % PROGRESS_EVERY === 0) process.stdout.write(`soak: ${summary()}\n`);
      }),
      {
        seed: Number(SOAK_SEED),
        numRuns: Number(SOAK_HISTORIES),
        ...(SOAK_PATH === undefined ? {} : { path: SOAK_PATH }),
      },
    );
    process.stdout.write(`soak with seed ${SOAK_SEED}: ${summary()}, all equal to the source in the end\n`);
    expect(tally.histories).toBeGreaterThan(0);
  },
);
