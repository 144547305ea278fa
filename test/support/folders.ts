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
  sandbox: {
    owns: 'the service itself, from its specification; of shared only the names of durations, because one misreading must not pass on both sides',
    mayImport: 'shared',
  },
  embedded: {
    owns: 'a PostgreSQL server that this program starts; independent of the warehouse',
    mayImport: 'shared',
  },
  'engine/streams': {
    owns: 'one file a stream: tables, columns with their fields, `toRows`; the registry',
    mayImport: 'shared dictionary',
  },
  'engine/api': {
    owns: 'the protocol: requests, their budget, retries, lists cut into records, error responses',
    mayImport: 'shared',
  },
  'engine/reading': {
    owns: 'how a stream is read, the slices of a backfill too: generators that send requests and yield steps; they do not write',
    mayImport: 'shared engine/streams engine/api',
  },
  'engine/database': {
    owns: 'connections and their settings, errors of the database, names in SQL, the version of the schema',
    mayImport: 'shared version.ts engine/streams',
  },
  'engine/control-tables': {
    owns: 'the control tables: runs, the session and the state of a stream, its slices, lookups and data issues',
    mayImport: 'shared version.ts engine/streams engine/database',
  },
  'engine/history': {
    owns: 'states of rows, daily counts, and retention',
    mayImport: 'shared engine/streams engine/database engine/control-tables',
  },
  'engine/loading': {
    owns: 'how records become rows: identify, compare, normalize, COPY, merge',
    mayImport: 'shared engine/streams engine/database engine/control-tables engine/history',
  },
  'engine/privacy': {
    owns: 'what may not be stored: protects records, cleans stored rows; loading calls it through `RecordProtection`',
    mayImport: 'shared engine/streams engine/database engine/control-tables engine/history engine/loading',
  },
  'engine/sync': {
    owns: 'the order: steps of a reader become loads and commits; verify and forget, which are runs, too',
    mayImport:
      'shared engine/streams engine/api engine/reading engine/database engine/control-tables engine/history engine/loading engine/privacy',
  },
  warehouse: {
    owns: 'the warehouse as a whole: migrated, opened, its accounts; what is set up in it for people: rights, comments, labels, the calendar, settings of views, Citus',
    mayImport: 'shared version.ts dictionary engine/streams engine/database engine/control-tables',
  },
  config: {
    owns: 'environment and accounts file, from texts to a typed, frozen value; all problems at once',
    mayImport: 'shared engine/streams engine/database',
  },
  'operate/status': {
    owns: 'the facts, the one list of problems, and one Status value: page, JSON, probes and metrics are made of it',
    mayImport:
      'shared version.ts engine/streams engine/database engine/control-tables engine/privacy engine/sync config',
  },
  pages: {
    owns: 'status page and report',
    mayImport: 'shared engine/streams engine/database operate/status',
  },
  'operate/alerts': {
    owns: 'alerts that last and the plan of reports, under a lock; messages, webhook and mail',
    mayImport: 'shared version.ts engine/database engine/control-tables config operate/status pages',
  },
  'app.ts': {
    owns: 'puts an account together: config, client, log',
    mayImport:
      'shared version.ts embedded engine/streams engine/api engine/database engine/control-tables engine/sync warehouse config',
  },
  'operate/worker': {
    owns: '`start`: schedule, slots, jobs, when a service may be asked again, HTTP, who looks for alerts, reports and the heartbeat, stop',
    mayImport:
      'shared version.ts engine/streams engine/database engine/control-tables engine/sync config operate/status pages operate/alerts app.ts',
  },
  cli: {
    owns: 'one file a verb: parses, calls, prints',
    mayImport:
      'shared version.ts sandbox engine/streams engine/api engine/reading engine/database engine/control-tables engine/privacy engine/sync warehouse config operate/status pages operate/alerts app.ts operate/worker',
  },
  'main.ts': { owns: 'the process: signals, arguments, exit code', mayImport: 'cli' },
};

/** Folders that are divided: the engine copies the data, the others are around it. */
const WINGS = ['engine', 'operate'];

/** `engine/api` for `engine/api/client.ts`, `app.ts` for a file of src itself. */
export function folderOf(path: string): string {
  const [first = path, ...others] = path.split('/');
  return WINGS.includes(first) && others.length > 1 ? `${first}/${others[0] ?? ''}` : first;
}
