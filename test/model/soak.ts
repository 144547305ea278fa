/**
 * `npm run soak -- --histories 500 --seed 7 --kills`: random histories, with workers killed by `kill -9` among them. `npm
 * run soak -- --followups 100000 --kills 10`: one backfill, killed that often.
 * `--path` replays a failed history. Exit code 0: all checks passed.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const args = process.argv.slice(2).flatMap((arg, index, all) =>
  // `--kills` without a number adds kills to the histories.
  arg === '--kills' && !/^\d+$/.test(all[index + 1] ?? '') ? ['--kills', 'true'] : [arg],
);
const { values } = parseArgs({
  args,
  options: {
    histories: { type: 'string' },
    followups: { type: 'string' },
    seed: { type: 'string' },
    kills: { type: 'string' },
    path: { type: 'string' },
  },
});
const histories = values.histories ?? (values.followups === undefined ? '100' : '0');
const settings = {
  SOAK_HISTORIES: histories,
  SOAK_FOLLOWUPS: values.followups,
  SOAK_SEED: values.seed,
  SOAK_KILLS: values.kills,
  SOAK_PATH: values.path,
};
const { status } = spawnSync('npx', ['vitest', 'run', '--config', 'test/model/soak.config.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
  },
});
process.exitCode = status ?? 1;
