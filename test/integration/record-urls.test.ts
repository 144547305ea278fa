import { expect, test } from 'vitest';
import { runInProcess } from '../support/in-process.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { createSyncedWorker, serviceEnv } from '../support/world.ts';

const VIEWS = [
  ['followup_overview', 'id', 'followups'],
  ['equipment_overview', 'id', 'equipment'],
  ['current_resource_versions', 'resource_id', 'resources'],
  ['resource_version_overview', 'resource_id', 'resources'],
  ['training_compliance', 'user_id', 'people'],
] as const;

/** An id that needs another form in an address. */
const ODD_ID = 'a b/../c';

test('views and report have record links after migrate with URL templates, and a command without templates keeps them', async () => {
  const worker = untilTestEnds(await createSyncedWorker());
  const [record] = worker.sandbox.store.followups.values();
  worker.sandbox.store.followups.put({ ...record, id: ODD_ID });
  await worker.run('followups', { kind: 'reconcile' });
  const base = serviceEnv(worker);
  const templates = {
    RECORD_URL_TEMPLATE_FOLLOWUP: 'https://service.example.com/followups/{id}',
    RECORD_URL_TEMPLATE_EQUIPMENT: 'https://service.example.com/equipment/{id}',
    RECORD_URL_TEMPLATE_RESOURCE: 'https://service.example.com/resources/{id}',
    RECORD_URL_TEMPLATE_EMPLOYEE: 'https://service.example.com/people/{id}',
  };
  /** Whether rows have links, and how many links are wrong. */
  const links = async () =>
    await Promise.all(
      VIEWS.map(async ([view, id, path]) => {
        const [row] = await worker.query<{ linked: boolean; wrong: number }>(`
          select count(record_url) > 0 as linked, count(*) filter (where record_url is distinct from
            case when ${id} !~ '[^A-Za-z0-9._~-]' then 'https://service.example.com/${path}/' || ${id} end)::int as wrong
          from safety.${view}`);
        return row;
      }),
    );
  const all = VIEWS.map(() => ({ linked: true, wrong: 0 }));
  const [before] = await worker.query('select count(record_url)::int as count from safety.followup_overview');
  expect(before).toEqual({ count: 0 });

  await runInProcess(['migrate'], { ...base, ...templates });
  expect(await links()).toEqual(all);
  await runInProcess(['migrate'], base);
  expect(await links()).toEqual(all);
  const { stdout: page } = await runInProcess(['report', '--out', '-'], base);
  expect(page).toContain('<a href="https://service.example.com/');

  await runInProcess(['migrate'], {
    ...base,
    RECORD_URL_TEMPLATE_FOLLOWUP: 'https://other.example.com/?id={id}',
  });
  expect(
    await worker.query(`select id, record_url from safety.followup_overview where id = '${ODD_ID}'
      or id = (select max(id) from safety.followups where id ~ '^[0-9]+$') order by id`),
  ).toEqual([
    {
      id: expect.stringMatching(/^\d+$/) as string,
      record_url: expect.stringMatching(/^https:\/\/other\.example\.com\/\?id=\d+$/) as string,
    },
    { id: ODD_ID, record_url: null },
  ]);
});
