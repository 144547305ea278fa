import { expect, test } from 'vitest';
import { parseLog } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forAllTests } from '../support/lifetime.ts';
import { SPECIMENS } from '../support/specimens.ts';

const fixture = forAllTests(() => createCliFixture());
async function statementsOf(level: string): Promise<Record<string, unknown>[]> {
  const { code, stderr } = await fixture.run(['sync', 'resources'], { LOG_LEVEL: level });
  expect(code).toBe(0);
  expect(stderr).not.toContain('canary-of-a-person');
  return parseLog(stderr).filter((line) => 'statement' in line);
}

test('at level debug each statement is logged with its effect, rows and duration, and without stored values', async () => {
  fixture.sandbox.store.resources.put({ ...SPECIMENS.resources.build('r'), title: 'canary-of-a-person' });
  const logged = await statementsOf('debug');
  const named = (name: string) => logged.find(({ statement }) => String(statement).startsWith(name));
  expect(named('copy "safety"."resources"')).toMatchObject({
    rows: 26,
    duration_ms: expect.any(Number) as number,
  });
  expect(named('insert into "safety_sync"."runs"')).toMatchObject({ rows: 1, error_code: null });
  expect(logged.every(({ duration_ms: ms }) => typeof ms === 'number')).toBe(true);
  expect(named('commit')).toBeDefined();
});

test('at level info no statement is logged', async () => {
  expect(await statementsOf('info')).toEqual([]);
});
