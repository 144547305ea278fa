/** The folders of src, lowest first: docs/design.md shows them, test/architecture.test.ts checks their imports. */

interface Folder {
  /** In Markdown. */
  readonly owns: string;
  /** Folders, or files of src itself, separated by spaces. A folder may also import itself. */
  readonly mayImport: string;
}

export const FOLDERS: Readonly<Record<string, Folder>> = {
  shared: {
    owns: 'errors (code, recovery, meaning), time, log, redaction, pseudonyms, format',
    mayImport: '',
  },
  'version.ts': { owns: 'the version of package.json', mayImport: '' },
  dictionary: {
    owns: 'meanings of tables and views, as data: comments, documents and dbt sources are made of it',
    mayImport: '',
  },
  streams: {
    owns: 'one file a stream: tables, columns with their fields, `toRows`; the registry',
    mayImport: 'shared dictionary',
  },
  sandbox: {
    owns: 'the service itself, from its specification; of shared only the names of durations, because one misreading must not pass on both sides',
    mayImport: 'shared',
  },
  config: {
    owns: 'environment and accounts file, from texts to a typed, frozen value; all problems at once',
    mayImport: 'shared streams',
  },
  api: {
    owns: 'the protocol: requests, limiter, retries, lists cut into records, error responses',
    mayImport: 'shared',
  },
  database: {
    owns: 'connections, the session of a run, migrations, control tables, retention, rights of readers, Citus',
    mayImport: 'version.ts shared streams dictionary',
  },
  embedded: { owns: 'a PostgreSQL server of one’s own; knows no warehouse', mayImport: 'shared' },
  loading: {
    owns: 'how records become rows: protect, identify, compare, normalize, COPY, merge, histories, data issues; cleans stored rows',
    mayImport: 'shared streams database',
  },
  reading: {
    owns: 'how a stream is read, the slices of a backfill too: generators that send requests and yield steps; they do not write',
    mayImport: 'shared api streams',
  },
  sync: {
    owns: 'the order: steps of a reader become loads and commits; verify and forget, which are runs, too',
    mayImport: 'shared api streams database loading reading',
  },
  health: {
    owns: 'per account, whether its service is well: outages and the circuit breaker',
    mayImport: 'shared streams sync',
  },
  status: {
    owns: 'one Status value; page, JSON, probes and metrics are made of it',
    mayImport: 'shared config streams database sync reading health',
  },
  labels: {
    owns: 'names for ids: the CSV file, its checks, coverage, import',
    mayImport: 'shared streams database',
  },
  pages: { owns: 'status page and report', mayImport: 'shared streams database status' },
  alerts: {
    owns: 'alerts: conditions, plan, ledger, messages, webhook and mail',
    mayImport: 'shared config streams database health status pages',
  },
  'app.ts': {
    owns: 'puts an account together: config, client, log, health',
    mayImport: 'version.ts shared config api streams database embedded sync health',
  },
  worker: {
    owns: '`start`: schedule, slots, jobs, HTTP, the report by schedule, stop',
    mayImport: 'app.ts version.ts shared config streams database reading sync health status pages alerts',
  },
  cli: {
    owns: 'one file a verb: parses, calls, prints',
    mayImport:
      'app.ts version.ts shared config api streams database reading sync status labels pages alerts worker sandbox',
  },
  'main.ts': { owns: 'the process: signals, arguments, exit code', mayImport: 'cli' },
};
