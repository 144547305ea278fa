/**
 * `npm run mutation`: applies each deliberate break to a copy of the tree and says whether the tests notice it.
 * `npm run mutation -- --only watermark` takes the breaks whose description holds that text, `--shard 1/2` every second one.
 * Exit code 1: a break went unnoticed, or its place was not found.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutation, MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'src',
  'test',
  'migrations',
  'docs',
  'docker-compose.yml',
  'Dockerfile',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'vitest.config.ts',
];
const MOST_MS = 300_000;

type Verdict = 'caught' | 'NOT CAUGHT' | 'place not found';

function tryMutation(tree: string, { file, search, replace, tests, names }: Mutation): Verdict {
  const path = join(tree, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(search).length !== 2) return 'place not found';
  writeFileSync(
    path,
    original.replace(search, () => replace),
  );
  try {
    const filter = names === undefined ? [] : ['-t', names];
    const { status } = spawnSync('npx', ['vitest', 'run', '--bail', '1', ...tests, ...filter], {
      cwd: tree,
      stdio: 'ignore',
      timeout: MOST_MS,
    });
    return status === 0 ? 'NOT CAUGHT' : 'caught';
  } finally {
    writeFileSync(path, original);
  }
}

const { values } = parseArgs({ options: { only: { type: 'string' }, shard: { type: 'string' } } });
const [shard = 1, shards = 1] = values.shard?.split('/').map(Number) ?? [];
const tree = mkdtempSync(join(tmpdir(), 'safety-sync-mutation-'));
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const chosen = MUTATIONS.filter(({ breaks }) => breaks.includes(values.only ?? '')).filter(
    (_, index) => index % shards === shard - 1,
  );
  let missed = 0;
  for (const mutation of chosen) {
    const startedMs = performance.now();
    const verdict = tryMutation(tree, mutation);
    if (verdict !== 'caught') missed += 1;
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stdout.write(`${verdict}: ${mutation.invariant}. ${mutation.breaks} (${seconds} s)\n`);
  }
  process.stdout.write(`${chosen.length - missed} of ${chosen.length} breaks caught\n`);
  process.exitCode = missed === 0 ? 0 : 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}
