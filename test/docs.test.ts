import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { describe, expect, it } from 'vitest';
import { ALERT_EVENTS } from '../src/alerts/events.ts';
import manifest from '../package.json' with { type: 'json' };
import { buildProgram } from '../src/cli/program.ts';
import { EXIT } from '../src/cli/run-results.ts';
import { createTerminal } from '../src/cli/terminal.ts';
import { VARIABLES } from '../src/config/variables.ts';
import { ERROR_KINDS, type Recovery } from '../src/shared/errors.ts';
import { STREAMS } from '../src/streams/index.ts';
import * as control from '../src/database/control-tables.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const readme = read('README.md');
const cli = tableRows('docs/cli.md');
const configuration = tableRows('docs/configuration.md');
const bi = tableRows('docs/bi.md');
const errors = sectionsOf('docs/errors.md');

/** What people read: every page of documentation that is written by hand or generated. */
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

type TableRow = readonly string[];

/** The cells of every row of the tables of a page. */
function tableRows(path: string): TableRow[] {
  return read(path)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

const rowsOf = (rows: readonly TableRow[], first: string): TableRow[] =>
  rows.filter((cells) => cells[0] === first);

/** Heading of the third level to the text below it, on one line. */
function sectionsOf(path: string): Map<string, string> {
  const [, ...sections] = read(path).split(/^### /m);
  return new Map(
    sections.map((section) => {
      const [heading = '', ...lines] = (section.split(/^## /m)[0] ?? '').split('\n');
      return [heading, lines.join(' ').trim()];
    }),
  );
}

const program = await buildProgram(
  { env: {}, terminal: createTerminal({}), signal: new AbortController().signal },
  () => undefined,
);
const verbs = program.commands.map((command) => command.name());
/** Verbs behind verbs, too: `labels import`. */
const commands = program.commands.flatMap((command) => [
  [command.name(), command] as const,
  ...command.commands.map((one) => [`${command.name()} ${one.name()}`, one] as const),
]);

describe('the documents have', () => {
  it.each(Object.entries(VARIABLES))('%s with its default', (name, declared) => {
    const fallback = declared.default ?? '';
    expect(rowsOf(configuration, `\`${name}\``).map((cells) => cells[1])).toEqual([
      fallback === '' ? '–' : `\`${fallback}\``,
    ]);
  });

  it('no variable that does not exist', () => {
    const beside = [
      'NAME_FILE',
      'SAFETY_TOKEN_FILE',
      'NO_COLOR',
      'SAFETY_SYNC_CONTAINER',
      'NODE_EXTRA_CA_CERTS',
    ];
    const ofTests = [
      'TEST_DATABASE_URL',
      'TEST_CITUS_URL',
      'TEST_CITUS_IMAGE',
      'TEST_POSTGRES_IMAGE',
      'TEST_CHROMIUM',
    ];
    const ofCode = ['MAY_IMPORT'];
    const ofCompose = [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map((match) => match[1] ?? '');
    const known = new Set([...Object.keys(VARIABLES), ...beside, ...ofTests, ...ofCode, ...ofCompose]);
    for (const page of PAGES) {
      const named = [...read(page).matchAll(/`([A-Z]+(?:_[A-Z]+)+)[`=]/g)].map((match) => match[1] ?? '');
      const isKnown = (name: string) =>
        // Those of OpenTelemetry are its own.
        known.has(name) || known.has(name.replace(/_FILE$/, '')) || name.startsWith('OTEL_');
      expect(
        named.filter((name) => !isKnown(name)),
        page,
      ).toEqual([]);
    }
  });

  it.each(commands)('%s with its arguments and options, and no others', (verb, command) => {
    const places = command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}...]`,
    );
    const usage = [verb, ...places].join(' ');
    expect(rowsOf(cli, `\`${usage}\``).length).toBeGreaterThan(0);
    const options = command.options.map(({ flags }) => flags);
    expect([...documentedOptions(verb).keys()].sort()).toEqual(options.sort());
  });

  it('the default of every option that has one', () => {
    for (const [verb, command] of commands) {
      for (const { flags, defaultValue } of command.options) {
        if (defaultValue === undefined || defaultValue === '0') continue;
        expect(documentedOptions(verb).get(flags), flags).toMatch(
          new RegExp(`\\b${String(defaultValue)}\\b`),
        );
      }
    }
  });

  const WHAT_HAPPENS: Record<Recovery, { readonly text: string; readonly exit: number }> = {
    retry: { text: 'Retried; when attempts run out the stream fails.', exit: EXIT.failed },
    fail_stream: { text: 'The stream fails.', exit: EXIT.failed },
    fail_run: { text: 'Nothing more is asked of the service.', exit: EXIT.refused },
    tell_later: { text: 'Nothing else is held up, it is tried again.', exit: EXIT.failed },
    fix_usage: { text: 'Nothing is tried.', exit: EXIT.usage },
  };

  it.each(Object.entries(ERROR_KINDS))(
    'a section for %s, with what it means, its exit code and what to do',
    (code, { recovery, advice }) => {
      const [meaning = '', after = ''] = (errors.get(`\`${code}\``) ?? '').split(' **What happens.** ');
      const [happens, todo] = after.split(' **What to do.** ');
      const { text, exit } = WHAT_HAPPENS[recovery];
      expect(meaning.trim()).not.toBe('');
      expect(happens?.trim()).toBe(`${text} Exit code ${String(exit)}.`);
      expect(todo).toContain(advice);
    },
  );

  it.each(Object.entries(ALERT_EVENTS))('the alert %s, and what to do', (event, { advice }) => {
    const rows = rowsOf(tableRows('docs/operations.md'), `\`${event}\``);
    expect(rows.map((cells) => cells[2])).toEqual([advice ?? 'what its [code](errors.md) says']);
  });

  it('no error that does not exist', () => {
    expect([...errors.keys()].map((heading) => heading.slice(1, -1)).sort()).toEqual(
      Object.keys(ERROR_KINDS).sort(),
    );
  });

  it('every exit code', () => {
    for (const code of Object.values(EXIT)) expect(rowsOf(cli, String(code))).toHaveLength(1);
  });

  it.each(
    STREAMS.flatMap(({ parent, children }) => [parent, ...children]).map(
      (table) => [getTableConfig(table).name, getTableConfig(table)] as const,
    ),
  )('the table safety.%s with its key', (_, table) => {
    expect(rowsOf(bi, `\`${table.name}\``).map((cells) => cells[1])).toContain(keyOf(table, ['account_id']));
  });

  it.each(
    Object.values(control)
      .filter((value) => value instanceof PgTable)
      .map((table) => [getTableConfig(table).name, getTableConfig(table)] as const),
  )('the table safety_sync.%s with its key', (_, table) => {
    expect(rowsOf(bi, `\`${table.name}\``).map((cells) => cells[1])).toContain(keyOf(table, []));
  });
});

describe('the README', () => {
  it('has the two commands, which package.json provides', () => {
    expect(readme).toContain('npm ci && npx safety-sync demo\n');
    expect(readme).toContain('npm ci && npm test\n');
    expect(manifest.bin).toEqual({ 'safety-sync': 'dist/main.js' });
    expect(manifest.scripts.prepare).toBe('node .ci/prepare.mjs');
    expect(manifest.scripts.test).toBe("vitest run --project '!proof'");
    expect(verbs).toContain('demo');
  });

  it('names the oldest version of each Node.js that package.json supports', () => {
    const needs = readme.split('\n\n').find((paragraph) => paragraph.startsWith('Needs Node.js'));
    const oldest = manifest.engines.node.match(/\d+(\.\d+)?/g);
    expect(oldest).toHaveLength(3);
    expect(oldest?.filter((version) => !needs?.includes(version))).toEqual([]);
  });

  it('is read in one go: 150 lines at most', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  });

  it.each(STREAMS)('names the table of $name', ({ parent }) => {
    expect(readme).toContain(`\`${getTableConfig(parent).name}\``);
  });

  it('leads to every page', () => {
    const ofIt = new Set([...readme.matchAll(/\]\(([^)#]+)/g)].map((match) => match[1] ?? ''));
    expect(PAGES.filter((page) => page !== 'README.md' && !ofIt.has(page))).toEqual([]);
  });
});

describe('the glossary', () => {
  const words = tableRows('docs/glossary.md').slice(1);

  it('is in alphabetical order and has every word once', () => {
    const names = words.map(([name = '']) => name.toLowerCase());
    expect(names).toEqual([...new Set(names)].sort());
  });

  it('says what each word means, in a sentence', () => {
    expect(words.filter(([, meaning = '']) => !/^[A-Z`].{15,}\.$/.test(meaning))).toEqual([]);
  });
});

describe('the code', () => {
  /** Words that the glossary replaces by those of the trade, and that no code has any more. */
  const REPLACED =
    'settled standing ailing firing blot rewind distrust damage sweep portion wave spill sighting checkpoint';

  it('uses the words of the glossary', () => {
    const paths = readdirSync(new URL('src/', ROOT), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !path.startsWith('sandbox'),
    );
    const word = new RegExp(`(?<![a-zA-Z])(?:${REPLACED.replaceAll(' ', '|')})`, 'gi');
    const met = paths.flatMap((path) =>
      (read(`src/${path}`).match(word) ?? []).map((found) => [path, found]),
    );
    expect(met).toEqual([]);
    // Facts are recorded; a note is what a run or a reader has to say.
    const noting = paths.filter((path) => /\b(?:function|const) note[A-Z]/.test(read(`src/${path}`)));
    expect(noting).toEqual([]);
  });
});

describe('files that are named', () => {
  const files = ['src', 'test', 'bench'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map(
      (name) => `/${folder}/${name.replaceAll('\\', '/')}`,
    ),
  );

  it.each(PAGES)('in %s are there', (page) => {
    const named = [...read(page).matchAll(/`([\w./-]+\.ts)`/g)].map((match) => match[1] ?? '');
    expect(named.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
  });
});

describe('links', () => {
  /** The anchors that headings of a page get where it is rendered. */
  const anchorsOf = (page: string): string[] =>
    [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each([...PAGES, 'CHANGELOG.md'])('of %s lead to a file and a heading that are there', (page) => {
    const text = read(page).replaceAll(/^```[^]*?^```/gm, '');
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
    const isThere = (link: string) => {
      if (/^https?:/.test(link)) return true;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? new URL(page, ROOT) : new URL(path, new URL(page, ROOT));
      if (!existsSync(target)) return false;
      return anchor === undefined || anchorsOf(target.href.slice(ROOT.href.length)).includes(anchor);
    };
    expect(links.filter((link) => !isThere(link))).toEqual([]);
  });
});

/** Of the table of options: flags to the text of their row. An empty first cell goes on with the verb above. */
function documentedOptions(verb: string): Map<string, string> {
  const found = new Map<string, string>();
  let current = '';
  for (const cells of cli) {
    const [first = '', flags = ''] = cells;
    current = first === '' ? current : first;
    if (current !== `\`${verb}\`` || !flags.startsWith('`--')) continue;
    const text = cells.slice(1).join(' ');
    for (const [, one = ''] of text.matchAll(/`(--[a-z-]+(?: <[^>]+>)?)`/g)) found.set(one, text);
  }
  return found;
}

function keyOf(table: ReturnType<typeof getTableConfig>, left: readonly string[]): string {
  const composed = table.primaryKeys.flatMap(({ columns }) => columns.map(({ name }) => name));
  const single = table.columns.filter(({ primary }) => primary).map(({ name }) => name);
  return `\`${[...composed, ...single].filter((name) => !left.includes(name)).join(', ')}\``;
}

describe('elsewhere', () => {
  it('.env.example has every variable, with its default commented out', () => {
    const lines = read('.env.example').split('\n');
    for (const [name, { default: fallback = '' }] of Object.entries(VARIABLES) as [
      string,
      { default?: string },
    ][]) {
      const values = lines.flatMap((line) => new RegExp(`^(#?)${name}=(.*)$`).exec(line) ?? []);
      expect(values, name).not.toEqual([]);
      if (fallback !== '') expect(values[2]?.replaceAll('"', ''), name).toBe(fallback);
      if (fallback !== '') expect(values[1], name).toBe('#');
    }
  });

  it('.env.example has no variable that does not exist', () => {
    const named = [...read('.env.example').matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map((match) => match[1] ?? '');
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });

  it.each([...PAGES, 'Dockerfile', 'docker-compose.yml'])('%s calls only verbs that exist', (path) => {
    const text = read(path);
    const called = [
      ...text.matchAll(/(?:npx safety-sync|`safety-sync|main\.js) ([a-z][a-z-]+)/g),
      ...text.matchAll(/^(?:CMD|\s*command:) \[['"]?([a-z-]+)/gm),
    ].map((match) => match[1] ?? '');
    expect(called.filter((verb) => !verbs.includes(verb))).toEqual([]);
  });

  it.each(['Dockerfile', 'docker-compose.yml'])('%s sets only variables that exist', (path) => {
    const named = [...read(path).matchAll(/\b((?:SAFETY|SYNC|API|HTTP|RETRY|LOG)_[A-Z_]+)\b/g)]
      .map((match) => match[1] ?? '')
      .map((name) => (name in VARIABLES ? name : name.replace(/_FILE$/, '')))
      .filter((name) => !['SAFETY_SYNC_CONTAINER', 'SAFETY_SYNC_IMAGE'].includes(name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in VARIABLES))).toEqual([]);
  });
});
