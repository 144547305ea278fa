/**
 * `npm run soak -- --histories 500 --seed 7 --kills`: random histories without a time limit, with workers killed by `kill -9`
 * among them. `--path` replays a failed history. Exit code 0: all checks passed.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    kills: { type: 'boolean', default: false },
    path: { type: 'string' },
  },
});
const vitest = ['vitest', 'run', 'test/model/model.test.ts', '--project=tests', '--disableConsoleIntercept'];
const { status } = spawnSync('npx', vitest, {
  stdio: 'inherit',
  env: {
    ...process.env,
    MODEL_HISTORIES: values.histories,
    MODEL_SEED: values.seed,
    MODEL_KILLS: String(values.kills),
    ...(values.path !== undefined && { MODEL_PATH: values.path }),
  },
});
process.exitCode = status ?? 1;
