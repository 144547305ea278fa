/**
 * Adds a stream in one file: its declaration with its table, the table that a migration would create, the sandbox's method and
 * the specimen. Everything else follows from the declaration.
 */

import { afterAll, beforeAll, expect } from 'vitest';
import { distribute, isDistributed } from '../../src/warehouse/citus.ts';
import { type Method, RecordTable, type Sandbox } from '../../src/sandbox/index.ts';
import { bookkeeping, safetyTable } from '../../src/engine/streams/columns.ts';
import { STREAMS } from '../../src/engine/streams/index.ts';
import type { RowOf, StreamDefinition } from '../../src/engine/streams/stream.ts';
import { as, field, meaningsOf, tableColumns } from '../../src/engine/streams/fields.ts';
import { fieldReader } from '../../src/engine/streams/read-fields.ts';
import { compareTable, entity, readList } from '../support/source-oracle.ts';
import * as source from '../support/source-wire.ts';
import type { Specimen } from '../support/specimens.ts';
import { describeStream } from '../support/stream-battery.ts';
import { NOON } from '../support/test-clock.ts';
import { createTestWorker, type TestWorker, type TestWorkerOptions } from '../support/world.ts';

const siteFields = {
  id: field('id', as.key, 'Identifier of the site.'),
  name: field('name', as.text, 'Name.'),
  opened_at: field('opened', as.instant, 'When work began there.'),
};

const workSites = safetyTable('work_sites', ['id'], { ...tableColumns(siteFields), ...bookkeeping() });

const MIGRATION = `create table if not exists safety.work_sites (account_id text not null, id text not null, name text,
  opened_at timestamptz, _hash uuid, _raw jsonb, _synced_at timestamptz not null default now(), _deleted_at timestamptz,
  _run_id bigint not null, primary key (account_id, id))`;

const readSite = fieldReader(siteFields);

const workSitesStream: StreamDefinition = {
  name: 'work-sites',
  contents: 'work sites',
  descriptions: {
    work_sites: {
      comment: 'Places where work is done (source: work-sites.list).',
      columns: meaningsOf(siteFields),
    },
  },
  method: 'work-sites.list',
  responseKey: 'sites',
  readMode: { kind: 'snapshot' },
  keyField: 'id',
  parent: workSites,
  fields: siteFields,
  children: [],
  histories: [],
  normalizerVersion: 1,
  toRows(record, _context, addIssue) {
    const parent: RowOf<typeof workSites> = readSite(record, addIssue);
    return { parent, children: [] };
  },
};

/** Its line in the registry, which other files of the worker share. */
const registry = STREAMS as StreamDefinition[];
beforeAll(() => void registry.push(workSitesStream));
afterAll(() => void registry.pop());

type Sites = RecordTable<object>;

const buildSite = (id: string) => ({ id, name: `Site ${id}`, opened: NOON - 5_000 });

function createSites(): Sites {
  const sites: Sites = new RecordTable('id');
  for (let number = 1; number <= 12; number += 1) sites.put(buildSite(`S${number}`));
  return sites;
}

const serve = (sites: Sites): Record<string, Method> => ({
  'work-sites.list': {
    rules: () => ({}),
    respond: () => ({ fields: {}, list: { name: 'sites', kind: 'site', records: [...sites.values()] } }),
  },
});

const sitesOf = new WeakMap<Sandbox, Sites>();

const specimen: Specimen = {
  table: 'work_sites',
  keyColumn: 'id',
  keyField: 'id',
  records: ({ sandbox }) => sitesOf.get(sandbox) ?? createSites(),
  build: buildSite,
  text: { field: 'name', column: 'name' },
  bad: { field: 'opened', column: 'opened_at', value: 'yesterday', right: NOON - 7_000 },
  unknownValue: null,
  beforeRun: () => Promise.resolve(),
};

async function createWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const sites = createSites();
  const sandbox = { ...options.sandbox, methods: serve(sites) };
  const worker = await createTestWorker({ ...options, sandbox });
  sitesOf.set(worker.sandbox, sites);
  await worker.query(MIGRATION);
  if (await isDistributed(worker.connection)) await distribute(worker.connection);
  return worker;
}

async function isEqual(worker: TestWorker): Promise<void> {
  const asked = { method: 'work-sites.list', list: 'sites', keyField: 'id' };
  const expected = (await readList(worker.sandbox, asked)).map((record) => ({
    id: source.id(record['id']),
    name: source.text(record['name']),
    opened_at: source.ms(record['opened']),
  }));
  const spec = entity(workSites);
  expect(await compareTable(worker, { name: 'work_sites', spec, expected })).toEqual([]);
}

describeStream({ stream: workSitesStream, specimen, isEqual, createWorker });
