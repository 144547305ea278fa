/**
 * The peer: a short script that loads a stream with DuckDB. It writes pages to files, which DuckDB reads as JSON and
 * flattens to CSV. `COPY` loads them into temporary tables, and one statement per table inserts new rows and updates
 * different ones. The tables are in schema `peer`, with keys, foreign keys and the record as received. There is no history,
 * hash or state, and no check.
 *
 * It runs as a separate process, like the worker: `duckdb.ts STREAM`. DuckDB's extension for PostgreSQL is not on npm.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { request } from 'undici';
import { connect } from './connect.ts';

/** Some 70 MB, which nothing but this measurement needs. */
const PACKAGE = '@duckdb/node-api';
export const HOW_TO_ADD = `without the peer DuckDB, which \`npm i --no-save ${PACKAGE}\` adds`;
const READERS = 4;

interface DuckDb {
  readonly DuckDBInstance: {
    create(
      path: string,
      settings: Readonly<Record<string, string>>,
    ): Promise<{ connect(): Promise<{ run(sql: string): Promise<unknown> }> }>;
  };
}

export function isDuckDbThere(): boolean {
  try {
    return createRequire(import.meta.url).resolve(PACKAGE) !== '';
  } catch {
    return false;
  }
}

interface PeerTable {
  readonly name: string;
  readonly key: readonly string[];
  /** Columns with their types, those of the key too. */
  readonly columns: string;
  readonly references?: string;
  /** DuckDB's query over `src`, in the order of the columns. */
  readonly select: string;
}

interface PeerStream {
  readonly method: string;
  /** The field of a response that has the records. */
  readonly list: string;
  readonly record: string;
  /** The parameters of the worker's request. */
  readonly parameters: object;
  /** Records of a page; null where a response has them all. */
  readonly pageSize: number | null;
  readonly tables: readonly PeerTable[];
}

const time = (value: string): string => `epoch_ms(${value}::bigint)`;
const day = (value: string): string => `strptime(${value}::varchar, '%Y%m%d')::date`;
const array = (value: string): string =>
  `case when ${value} is not null then '{' || array_to_string(${value}, ',') || '}' end`;

export const PEER_STREAMS: Readonly<Record<string, PeerStream>> = {
  followups: {
    method: 'followups.list',
    list: 'followups',
    record: `struct(id varchar, form_id bigint, response_id bigint, "open" boolean, created_on bigint, updated_on bigint,
      m_observer_id varchar, m_assigner_id varchar, m_assignee_id varchar, due bigint, resolved_on bigint, m_completer_id varchar,
      messages struct(id varchar, "date" bigint, m_user_id varchar, note varchar, m_reassignee_id varchar,
        attachments struct("key" varchar, caption varchar)[], "notify" boolean)[])`,
    parameters: {},
    pageSize: 500,
    tables: [
      {
        name: 'followups',
        key: ['id'],
        columns: `id text, form_id bigint, response_id bigint, is_open boolean, created_at timestamptz, updated_at timestamptz,
          observer_id text, assigner_id text, assignee_id text, due_on date, resolved_at timestamptz, completer_id text, raw jsonb`,
        select: `id, form_id, response_id, "open", ${time('created_on')}, ${time('updated_on')}, m_observer_id, m_assigner_id,
          m_assignee_id, ${day('due')}, ${time('resolved_on')}, m_completer_id, to_json(src) from src`,
      },
      {
        name: 'followup_messages',
        key: ['followup_id', 'id'],
        columns: `followup_id text, id text, position int, sent_at timestamptz, user_id text, note text, reassignee_id text, notify boolean`,
        references: 'followups',
        select: `f, m.id, pos, ${time('m."date"')}, m.m_user_id, m.note, m.m_reassignee_id, m."notify"
          from (select id f, unnest(messages) m, generate_subscripts(messages, 1) pos from src)`,
      },
      {
        name: 'followup_attachments',
        key: ['followup_id', 'message_id', 'position'],
        columns: `followup_id text, message_id text, position int, key text, caption text`,
        references: 'followups',
        select: `f, m, generate_subscripts(a, 1), unnest(a)."key", unnest(a).caption
          from (select f, m.id m, m.attachments a from (select id f, unnest(messages) m from src))`,
      },
    ],
  },
  equipments: {
    method: 'equipments.list',
    list: 'equipments',
    record: `struct(id varchar, "serialNumber" varchar, "equipmentType_id" varchar, created bigint, parent_id varchar,
      "fieldOffice_id" varchar[], "lineOfBusiness_id" varchar, clients_id varchar[], "assignedUsers_id" varchar[], title varchar,
      notes varchar, "isInService" boolean, metavalues map(varchar, json), status varchar,
      schedules struct(schedule_id varchar, status varchar, "expiresOn" bigint, "expiringOn" bigint, "lastCompletedOn" bigint)[])`,
    parameters: { service_type: 'all', include_null_metavalues: true },
    pageSize: null,
    tables: [
      {
        name: 'equipment',
        key: ['id'],
        columns: `id text, serial_number text, equipment_type_id text, created_at timestamptz, parent_id text,
          field_office_ids text[], line_of_business_id text, client_ids text[], assigned_user_ids text[], title text, notes text,
          is_in_service boolean, status text, raw jsonb`,
        select: `id, "serialNumber", "equipmentType_id", ${time('created')}, parent_id, ${array('"fieldOffice_id"')},
          "lineOfBusiness_id", ${array('clients_id')}, ${array('"assignedUsers_id"')}, title, notes, "isInService", status,
          to_json(src) from src`,
      },
      {
        name: 'equipment_schedules',
        key: ['equipment_id', 'schedule_id'],
        columns: `equipment_id text, schedule_id text, status text, expires_at timestamptz, expiring_at timestamptz,
          last_completed_at timestamptz`,
        references: 'equipment',
        select: `e, s.schedule_id, s.status, ${time('s."expiresOn"')}, ${time('s."expiringOn"')}, ${time('s."lastCompletedOn"')}
          from (select id e, unnest(schedules) s from src)`,
      },
      {
        name: 'equipment_metavalues',
        key: ['equipment_id', 'metafield_id'],
        columns: `equipment_id text, metafield_id text, number_value numeric, text_value text, item_ids bigint[]`,
        references: 'equipment',
        select: `e, m.key, case when json_type(m.value) in ('DOUBLE', 'UBIGINT', 'BIGINT') then m.value->>'$' end,
            case when json_type(m.value) = 'VARCHAR' then m.value->>'$' end,
            case when json_type(m.value) = 'OBJECT' then ${array(`(m.value->'$.item_ids')::bigint[]`)} end
          from (select id e, unnest(map_entries(metavalues)) m from src)`,
      },
    ],
  },
  resources: {
    method: 'resources.list',
    list: 'resources',
    record: `struct(id varchar, title varchar, created bigint, "sequence" bigint, category_id varchar, tags varchar[],
      "shouldBeAvailableOffline" boolean, versions struct(creator_id varchar, created bigint, "approvedOn" bigint,
        "version" varchar, description varchar, "type" varchar, file varchar, link varchar)[])`,
    parameters: {},
    pageSize: null,
    tables: [
      {
        name: 'resources',
        key: ['id'],
        columns: `id text, title text, created_at timestamptz, sequence int, category_id text, tags text[],
          should_be_available_offline boolean, raw jsonb`,
        select: `id, title, ${time('created')}, "sequence", category_id, ${array('tags')}, "shouldBeAvailableOffline",
          to_json(src) from src`,
      },
      {
        name: 'resource_versions',
        key: ['resource_id', 'ordinal'],
        columns: `resource_id text, ordinal int, is_current boolean, created_at timestamptz, approved_at timestamptz,
          creator_id text, version text, description text, type text, file text, link text`,
        references: 'resources',
        select: `r, n - pos + 1, pos = 1, ${time('v.created')}, ${time('v."approvedOn"')}, v.creator_id, v."version",
            v.description, v."type", v.file, v.link
          from (select id r, unnest(versions) v, generate_subscripts(versions, 1) pos, len(versions) n from src)`,
      },
    ],
  },
  'training-employee-status': {
    method: 'training-employee-status.list',
    list: 'employees',
    record: `struct(status varchar, m_user_id varchar, percent_complete double, incomplete_training_ids bigint[],
      complete_training_ids bigint[], last_completed struct(id bigint, date_number bigint, "expiresOn" bigint,
        "startsExpiringOn" bigint, is_required boolean)[])`,
    parameters: { include_all_completions: true },
    pageSize: 1000,
    tables: [
      {
        name: 'training_employee_status',
        key: ['user_id'],
        columns: `user_id text, status text, percent_complete numeric, incomplete_training_ids bigint[],
          complete_training_ids bigint[], raw jsonb`,
        select: `m_user_id, status, percent_complete, ${array('incomplete_training_ids')}, ${array('complete_training_ids')},
          to_json(src) from src`,
      },
      {
        name: 'training_completions',
        key: ['user_id', 'training_id'],
        columns: `user_id text, training_id bigint, completed_on date, expires_on date, starts_expiring_on date, is_required boolean`,
        references: 'training_employee_status',
        select: `u, c.id, ${day('c.date_number')}, ${day('c."expiresOn"')}, ${day('c."startsExpiringOn"')}, c.is_required
          from (select m_user_id u, unnest(last_completed) c from src)`,
      },
    ],
  },
};

/** The empty tables of a stream. */
export function peerSchema(stream: string): string {
  const tables = PEER_STREAMS[stream]?.tables ?? [];
  const texts = tables.map(({ name, key, columns, references }) => {
    const foreign =
      references === undefined ? '' : `, foreign key (${key[0] ?? ''}) references peer.${references}`;
    return `create table peer.${name} (${columns}, primary key (${key.join(', ')})${foreign})`;
  });
  return ['create schema peer', ...texts].join(';\n');
}

/** Writes the responses as files; returns how many. */
async function fetchPages({ method, parameters, pageSize }: PeerStream, folder: string): Promise<number> {
  const { SAFETY_BASE_URL: url = '', SAFETY_TOKEN: token, SAFETY_EQUIPMENT_TYPES: types = '' } = process.env;
  let asked = 0;
  const fetchPage = async (more: object): Promise<Buffer> => {
    const { statusCode, body } = await request(`${url}/v1/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, ...parameters, ...more }),
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 200) throw new Error(bytes.toString());
    await writeFile(join(folder, `${(asked += 1)}.json`), bytes);
    return bytes;
  };
  if (pageSize !== null) {
    const first = await fetchPage({ limit: pageSize, page: 1 });
    const last = Number(/"last_page":(\d+)/.exec(first.toString())?.[1]);
    const limit = pLimit(READERS);
    const pages = Array.from({ length: last - 1 }, (_, at) => at + 2);
    await Promise.all(pages.map((page) => limit(fetchPage, { limit: pageSize, page })));
  } else if (method === 'equipments.list') {
    for (const type of types.split(',')) await fetchPage({ equipmentType_id: type });
  } else {
    await fetchPage({});
  }
  return asked;
}

async function load(name: string, stream: PeerStream): Promise<void> {
  const startedMs = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'safety-sync-peer-'));
  const sql = connect(process.env['DATABASE_URL'] ?? '');
  try {
    const requests = await fetchPages(stream, folder);
    const { DuckDBInstance } = (await import(PACKAGE)) as DuckDb;
    const duck = await (
      await DuckDBInstance.create(':memory:', { preserve_insertion_order: 'false' })
    ).connect();
    await duck.run(`set timezone = 'UTC'`);
    await duck.run(
      `create table src as select unnest(${stream.list}, max_depth := 2) from read_json('${folder}/*.json',
        columns = {${stream.list}: '${stream.record.replaceAll(/\s+/g, ' ')}[]'}, maximum_object_size = 1000000000, format = 'unstructured')`,
    );
    let read = 0;
    await sql.begin(async (tx) => {
      for (const { name: table, key, select } of stream.tables) {
        const file = join(folder, `${table}.csv`);
        await duck.run(`copy (select ${select}) to '${file}' (header false)`);
        await tx.unsafe(`create temporary table new_${table} (like peer.${table}) on commit drop`);
        await pipeline(
          createReadStream(file, { highWaterMark: 256 * 1024 }),
          await tx.unsafe(`copy new_${table} from stdin (format csv)`).writable(),
        );
        const columns = await tx.unsafe<{ attname: string }[]>(
          `select attname from pg_attribute where attrelid = 'peer.${table}'::regclass and attnum > 0`,
        );
        const rest = columns.map(({ attname }) => attname).filter((column) => !key.includes(column));
        const row = (of: string): string => rest.map((column) => `${of}.${column}`).join(', ');
        await tx.unsafe(
          `insert into peer.${table} as old select * from new_${table} on conflict (${key.join(', ')}) do update
            set ${rest.map((column) => `${column} = excluded.${column}`).join(', ')}
            where (${row('old')}) is distinct from (${row('excluded')})`,
        );
        const [counted] = await tx.unsafe(`select count(*)::int as rows from new_${table}`);
        read ||= Number(counted?.['rows']);
      }
    });
    // As the worker reports its runs.
    const run = { stream: name, records_read: read, requests, duration_ms: performance.now() - startedMs };
    process.stdout.write(JSON.stringify({ runs: [run] }));
  } finally {
    await sql.end();
    await rm(folder, { recursive: true });
  }
}

const [, program, name = ''] = process.argv;
const stream = PEER_STREAMS[name];
if (program === fileURLToPath(import.meta.url) && stream !== undefined) await load(name, stream);
