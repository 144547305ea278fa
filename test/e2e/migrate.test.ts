import { describe, expect, it } from 'vitest';
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

describe('check on a migrated warehouse without rows', () => {
  it('names all that the first sync will read, and no single streams', async () => {
    const { code, stdout } = await fixture.run(['check']);
    expect(stdout).toMatch(
      /^ok {4}first sync: will read 25 records of resources\.list, 60 records of followups\.list, 20 records of training-employee-status\.list, equipment of \d types$/m,
    );
    expect(stdout).not.toContain('never been synced');
    expect(stdout).toContain('\nEverything is in order.\n');
    expect(code).toBe(0);
  });

  it('says once that there is no service at the path of SAFETY_BASE_URL, and remembers of no method that it is not offered', async () => {
    const { code, stdout } = await fixture.run(['check'], {
      SAFETY_BASE_URL: `${fixture.sandbox.url}/elsewhere`,
    });
    const failed = stdout.split('\n').filter((line) => line.startsWith('FAIL'));
    expect(failed).toEqual([
      expect.stringMatching(
        /^FAIL {2}service: no method .*\/elsewhere\/v1\/.*: api_method_not_found \[request /,
      ),
    ]);
    expect(stdout).toContain('Check SAFETY_BASE_URL, above all its path');
    expect(stdout).not.toContain('not offered');
    expect(code).toBe(1);
    expect((await fixture.run(['check'])).stdout).not.toContain('not offered');
  });
});
