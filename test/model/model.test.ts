/**
 * Random histories of changes, faults, crashes and runs: in every case the next sync makes the warehouse equal to the source
 * (contract, 5.1). A failed history is printed in its shortest form; MODEL_SEED and MODEL_PATH replay it.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { casesOf } from '../support/proof.ts';
import { noTally, play } from './play.ts';
import { history } from './step.ts';

const HISTORIES = casesOf({ few: 1, all: 8 });
const LONGEST = 20;
const SEED = 20_261_120;

test(`after any of ${HISTORIES} random histories the next sync makes the warehouse equal to the source`, async () => {
  const { MODEL_SEED, MODEL_PATH, MODEL_HISTORIES } = process.env;
  const tally = noTally();
  await fc.assert(
    fc.asyncProperty(history({ kills: false, longest: LONGEST }), (one) => play(one, tally)),
    {
      seed: Number(MODEL_SEED ?? SEED),
      numRuns: Number(MODEL_HISTORIES ?? HISTORIES),
      ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
      endOnFailure: process.env['MODEL_SHRINK'] === 'off',
    },
  );
  expect(tally.runs).toBeGreaterThan(0);
}, 600_000);
