/**
 * Random histories of changes, faults, crashes and runs: in every case the next sync makes the warehouse equal to the source
 * (contract, 5.1). A failed history is printed in its shortest form. `npm run soak` plays more and longer ones, with kills.
 */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createCli, type Cli } from '../support/cli.ts';
import { casesOf } from '../support/proof.ts';
import { noTally, play } from './play.ts';
import { history } from './step.ts';

const { MODEL_HISTORIES, MODEL_SEED = '20261120', MODEL_PATH, MODEL_KILLS } = process.env;
const HISTORIES = Number(MODEL_HISTORIES ?? casesOf({ few: 1, all: 8 }));
const isSoak = MODEL_HISTORIES !== undefined;
const kills = MODEL_KILLS === 'true';

let cli: Cli | undefined;
afterAll(() => cli?.close());

test(
  `after any of ${HISTORIES} random histories the next sync makes the warehouse equal to the source`,
  async () => {
    if (kills) cli = await createCli();
    const tally = noTally();
    await fc.assert(
      fc.asyncProperty(history({ kills, longest: isSoak ? 40 : 20 }), async (one) => {
        await play(one, tally, cli).catch((error: unknown) => {
          if (isSoak) process.stdout.write(`soak: fails (${String(error)}), looking for a shorter history\n`);
          throw error;
        });
        if (isSoak && tally.histories % 10 === 0) process.stdout.write(`soak: ${JSON.stringify(tally)}\n`);
      }),
      {
        seed: Number(MODEL_SEED),
        numRuns: HISTORIES,
        ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
      },
    );
    if (isSoak) process.stdout.write(`soak: ${JSON.stringify(tally)}\n`);
    expect(tally.runs).toBeGreaterThan(0);
  },
  isSoak ? 0 : 600_000,
);
