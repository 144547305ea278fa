import { expect, it } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forAllTests } from '../support/lifetime.ts';

const fixture = forAllTests(() => createCliFixture({ isEmpty: true }));

it('status on a new database fails with the command that migrates it', async () => {
  const { code, stdout, stderr } = await fixture.run(['status']);
  expect(stderr).toMatch(/^database_not_migrated: .*\nRun: safety-sync migrate\n$/);
  expect(stdout).toBe('');
  expect(code).toBe(1);
});

it('check accepts a new database, because a sync migrates it', async () => {
  const { code, stdout } = await fixture.run(['check']);
  expect(stdout).toMatch(/^ok {4}migrations: \d+ of \d+ are missing; sync and start apply them$/m);
  expect(code).toBe(0);
});

it('if three commands migrate at once, all succeed and one applies the migrations, and a fourth applies none', async () => {
  const outcomes = await Promise.all([1, 2, 3].map(() => fixture.run(['migrate'])));
  for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 0, stderr: '' });
  const applied = outcomes.filter(({ stdout }) => /^Applied \d+ migrations?; /.test(stdout));
  expect(applied).toHaveLength(1);
  expect((await fixture.run(['migrate'])).stdout).toMatch(
    /^The warehouse is up to date \(\d+ migrations?\)\.\n$/,
  );
});
