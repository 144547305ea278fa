/** Documents about the warehouse's schema, generated from the database catalogue. */
import { getTableName } from 'drizzle-orm';
import type { Connection } from '../../src/engine/database/connection.ts';
import { STREAMS } from '../../src/engine/streams/index.ts';
import { groupBy } from '../../src/shared/group-by.ts';
import { type Generated, markdownTable } from './generated.ts';

interface Column {
  readonly relation: string;
  readonly kind: 'r' | 'v';
  readonly about: string;
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
  /** Position in the primary key; null: not part of it. */
  readonly key_place: number | null;
  readonly is_required: boolean;
}

interface Reference {
  readonly child: string;
  readonly parent: string;
  readonly columns: string;
  readonly parent_columns: string;
}

interface Relation {
  readonly name: string;
  readonly kind: 'r' | 'v';
  readonly about: string;
  readonly columns: readonly Column[];
}

const NOTE = 'Generated from the database by `npm run docs:generate`; do not edit.';

/** Tables that views read, and no reader: their views are documented. */
const INTERNAL =
  /_states$|^(counted_days|day_counts|equipment_asked_types|equipment_completions|reporting_settings)$/;

async function readRelations(connection: Connection): Promise<Relation[]> {
  const rows = await connection.query<Column>(
    `select c.relname as relation, c.relkind::text as kind, obj_description(c.oid, 'pg_class') as about, a.attname as name,
       format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as meaning,
       array_position(i.indkey::int2[], a.attnum) as key_place, a.attnotnull as is_required
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'v') order by c.relkind, c.relname, a.attnum`,
  );
  return groupBy(rows, ({ relation }) => relation).map((columns) => {
    const [{ relation: name, kind, about }] = columns;
    return { name, kind, about, columns };
  });
}

const readReferences = (connection: Connection) =>
  connection.query<Reference>(
    `select child.relname as child, parent.relname as parent,
       (select string_agg(a.attname, ', ' order by k.ord) from unnest(f.conkey) with ordinality k (num, ord)
         join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.num) as columns,
       (select string_agg(a.attname, ', ' order by k.ord) from unnest(f.confkey) with ordinality k (num, ord)
         join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.num) as parent_columns
     from pg_constraint f join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
     where f.contype = 'f' and f.connamespace = 'safety'::regnamespace order by 1, 2`,
  );

function renderDictionary(relations: readonly Relation[]): string {
  const part = (title: string, kind: Relation['kind']) =>
    [
      `## ${title}`,
      ...relations
        .filter((relation) => relation.kind === kind)
        .flatMap(({ name, about, columns }) => [
          `### \`safety.${name}\``,
          about,
          markdownTable(
            ['column', 'type', 'meaning'],
            columns.map((one) => [
              one.key_place !== null ? `**\`${one.name}\`**` : `\`${one.name}\``,
              one.type,
              one.meaning,
            ]),
          ),
        ]),
    ].join('\n\n');
  return [
    '# Data dictionary',
    `${NOTE} The comments in the database have these texts. Key columns are bold. Times are points in time; days without a time are dates.`,
    part('Views', 'v'),
    part('Tables', 'r'),
  ].join('\n\n');
}

/** Column names of the primary key. */
const keyOf = (columns: readonly Column[]): string[] =>
  columns
    .flatMap(({ name, key_place: place }) => (place === null ? [] : [{ name, place }]))
    .sort((a, b) => a.place - b.place)
    .map(({ name }) => name);

const yaml = (text: string): string => JSON.stringify(text);

/** Combines several columns into one, as dbt's own tests require. */
const asOne = (columns: readonly string[]): string => columns.join(` || '/' || `);

/** A missed tick is normal now and then; a day without success is an error. */
const FRESHNESS = ['warn_after: { count: 2, period: hour }', 'error_after: { count: 1, period: day }'];

const STREAM_OF_TABLE = new Map(STREAMS.map(({ name, parent }) => [getTableName(parent), name]));

/** The oldest success of all accounts, because `_synced_at` shows only the last change. */
function renderFreshness(table: string): string[] {
  const stream = STREAM_OF_TABLE.get(table);
  if (stream === undefined) return [];
  const field = `(select min(f.last_success_at) from {{ var('safety_schema', 'safety') }}.freshness f where f.stream = '${stream}')`;
  return [
    '        config:',
    `          loaded_at_field: ${yaml(field)}`,
    '          freshness:',
    ...FRESHNESS.map((line) => `            ${line}`),
  ];
}

function renderTableTests({ name, columns }: Relation, references: readonly Reference[]): string[] {
  const keys = keyOf(columns);
  const unique = [
    '          - unique:',
    `              name: ${name}_key`,
    `              column_name: ${yaml(asOne(keys))}`,
  ];
  const relations = references
    .filter(({ child }) => child === name)
    .flatMap(({ parent, columns: own, parent_columns: theirs }) => [
      '          - relationships:',
      `              name: ${name}_of_${parent}`,
      `              column_name: ${yaml(asOne(own.split(', ')))}`,
      '              arguments:',
      `                to: source('safety', '${parent}')`,
      `                field: ${yaml(asOne(theirs.split(', ')))}`,
    ]);
  return keys.length === 0 ? [] : ['        data_tests:', ...unique, ...relations];
}

function renderSources(relations: readonly Relation[], references: readonly Reference[]): string {
  const lines = [
    `# ${NOTE.replaceAll('`', '')}`,
    'version: 2',
    'sources:',
    '  - name: safety',
    `    description: ${yaml('Workplace-safety warehouse, kept by safety-sync.')}`,
    `    database: "{{ var('safety_database', target.database) }}"`,
    `    schema: "{{ var('safety_schema', 'safety') }}"`,
    '    tables:',
  ];
  for (const relation of relations) {
    const { name, about, columns } = relation;
    lines.push(`      - name: ${name}`, `        description: ${yaml(about)}`);
    lines.push(...renderFreshness(name), ...renderTableTests(relation, references), '        columns:');
    for (const one of columns) {
      lines.push(`          - name: ${one.name}`, `            description: ${yaml(one.meaning)}`);
      lines.push(`            data_type: ${yaml(one.type)}`);
      if (one.is_required) lines.push('            data_tests: [not_null]');
    }
  }
  return lines.join('\n');
}

function renderDiagram(relations: readonly Relation[], references: readonly Reference[]): string {
  const lines = ['erDiagram'];
  for (const { child, parent, columns } of references)
    lines.push(`  ${parent} ||--o{ ${child} : "${columns}"`);
  for (const { name, columns } of relations.filter(({ kind }) => kind === 'r')) {
    lines.push(`  ${name} {`);
    for (const one of columns) {
      const type = one.type.replace('timestamp with time zone', 'timestamptz').replaceAll(' ', '_');
      lines.push(`    ${type} ${one.name}${one.key_place !== null ? ' PK' : ''}`);
    }
    lines.push('  }');
  }
  return [
    '# Schema',
    `${NOTE} Foreign keys of schema \`safety\`; user ids lead to \`users\` without one, since a name may come later. Views and meanings: [data-dictionary.md](data-dictionary.md).`,
    `\`\`\`mermaid\n${lines.join('\n')}\n\`\`\``,
  ].join('\n\n');
}

/** Relations that others join, with their key of one column. Columns that lead to a person are named after its part. */
const DIMENSIONS: Readonly<Record<string, string>> = {
  people: 'user_key',
  followup_overview: 'followup_key',
  equipment_overview: 'equipment_key',
  calendar: 'date',
};

/** The relations to begin with, which join nothing but those above and each other. */
const FACTS = [
  'followup_overview',
  'due_followups',
  'training_matrix',
  'training_compliance',
  'equipment_overview',
  'equipment_inspections',
  'due_inspections',
];

/** The dimension that a column of a view leads to. */
function dimensionOf({ name, type, meaning }: Column): string | undefined {
  if (meaning.includes('people.user_key')) return 'people';
  if (type === 'date' && (name === 'date' || name.endsWith('_on'))) return 'calendar';
  return Object.keys(DIMENSIONS).find((relation) => DIMENSIONS[relation] === name);
}

function renderStar(relations: readonly Relation[]): string {
  const lines = ['erDiagram'];
  for (const dimension of Object.keys(DIMENSIONS)) {
    for (const { name: fact, columns } of relations.filter(({ name }) => FACTS.includes(name))) {
      const keys = columns.filter((one) => fact !== dimension && dimensionOf(one) === dimension);
      const side = dimension === 'people' || dimension === 'calendar' ? '|o' : '||';
      if (keys.length > 0)
        lines.push(`  ${dimension} ${side}--o{ ${fact} : "${keys.map(({ name }) => name).join(', ')}"`);
    }
  }
  for (const [dimension, key] of Object.entries(DIMENSIONS))
    lines.push(`  ${dimension} {`, `    ${key === 'date' ? 'date' : 'text'} ${key} PK`, '  }');
  return `\`\`\`mermaid\n${lines.join('\n')}\n\`\`\``;
}

const renderTables = (relations: readonly Relation[]): string =>
  markdownTable(
    ['table', 'key', 'holds'],
    relations
      .filter(({ kind }) => kind === 'r')
      .map(({ name, columns, about }) => {
        return [`\`${name}\``, `\`${keyOf(columns).join(', ')}\``, about];
      }),
  );

/** By path from the project root. */
export async function renderSchemaDocs(connection: Connection): Promise<Record<string, Generated>> {
  const relations = (await readRelations(connection)).filter(({ name }) => !INTERNAL.test(name));
  const references = (await readReferences(connection)).filter(({ child }) => !INTERNAL.test(child));
  return {
    'docs/bi.md': {
      star: renderStar(relations),
      tables: renderTables(relations),
    },
    'docs/data-dictionary.md': renderDictionary(relations),
    'docs/dbt/models/sources.yml': renderSources(relations, references),
    'docs/schema.md': renderDiagram(relations, references),
  };
}
