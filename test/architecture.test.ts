import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { FOLDERS, folderOf } from './support/folders.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

interface SourceFile {
  /** From `src`, e.g. `engine/api/client.ts`. */
  readonly path: string;
  readonly text: string;
  /** Files of ours that it imports, from `src`. */
  readonly imports: readonly string[];
  /** Packages and Node modules that it imports. */
  readonly packages: readonly string[];
}

function readSources(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = join(folder, name);
      const text = readFileSync(file, 'utf8');
      const specifiers = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
      return {
        path: name.replaceAll('\\', '/'),
        text,
        imports: specifiers
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => relative(SRC, join(dirname(file), specifier)).replaceAll('\\', '/')),
        packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
      };
    });
}

const sources = readSources(SRC);

/** A way from a file back to itself; null when there is none. */
function findCycle(files: readonly SourceFile[]): string[] | null {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] | null => {
    const at = way.indexOf(path);
    if (at >= 0) return [...way.slice(at), path];
    if (done.has(path)) return null;
    for (const next of byPath.get(path)?.imports ?? []) {
      const cycle = visit(next, [...way, path]);
      if (cycle !== null) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const { path } of files) {
    const cycle = visit(path, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

describe('imports', () => {
  it('every folder of src is in the table of import directions', () => {
    expect([...new Set(sources.map(({ path }) => folderOf(path)))].sort()).toEqual(
      Object.keys(FOLDERS).sort(),
    );
  });

  it.each(Object.entries(FOLDERS))('%s imports no folder from above', (folder, { mayImport }) => {
    const wrong = sources
      .filter(({ path }) => folderOf(path) === folder)
      .flatMap(({ path, imports }) => imports.map((imported) => [path, imported] as const))
      .filter(([, imported]) => ![folder, ...mayImport.split(' ')].includes(folderOf(imported)));
    expect(wrong).toEqual([]);
  });

  it('the table of import directions allows no import that is not in the code', () => {
    const unused = Object.entries(FOLDERS).map(([folder, { mayImport }]) => {
      const imported = sources
        .filter(({ path }) => folderOf(path) === folder)
        .flatMap(({ imports }) => imports);
      return [
        folder,
        mayImport
          .split(' ')
          .filter((other) => other !== '' && !imported.some((path) => folderOf(path) === other)),
      ] as const;
    });
    expect(unused.filter(([, others]) => others.length > 0)).toEqual([]);
  });

  it('imports form no cycle', () => {
    expect(findCycle(sources)).toBeNull();
  });

  it('a cycle of imports is found', () => {
    const file = (path: string, ...imports: string[]) => ({ path, imports, text: '', packages: [] });
    expect(findCycle([file('a', 'b'), file('b', 'c', 'd'), file('c'), file('d', 'b')])).toEqual([
      'b',
      'd',
      'b',
    ]);
  });

  it('the sandbox imports only the names of durations from the rest of src', () => {
    const imported = sources
      .filter(({ path }) => folderOf(path) === 'sandbox')
      .flatMap(({ imports }) => imports.filter((path) => folderOf(path) !== 'sandbox'));
    expect([...new Set(imported)].filter((path) => path !== 'shared/time.ts')).toEqual([]);
  });

  it('postgres.js is imported by two files only: the connection, and the session of the embedded server', () => {
    const users = sources.filter(({ packages }) => packages.includes('postgres')).map(({ path }) => path);
    expect(users.sort()).toEqual(['embedded/session.ts', 'engine/database/connection.ts']);
  });

  it('the HTTP client is imported by one file only', () => {
    const users = sources.filter(({ packages }) => packages.some((name) => name.startsWith('undici/')));
    expect(users.map(({ path }) => path)).toEqual(['shared/http-agent.ts']);
  });
});

/** All imports of a file, direct and indirect. */
function reachedFrom(path: string, files: readonly SourceFile[]): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const imported of byPath.get(next)?.imports ?? []) {
      if (reached.has(imported)) continue;
      reached.add(imported);
      queue.push(imported);
    }
  }
  return reached;
}

describe('the steps of a run', () => {
  it('normalizing is pure: no file of a stream reaches a connection', () => {
    const wrong = sources
      .filter(({ path }) => folderOf(path) === 'engine/streams' || path === 'engine/loading/record.ts')
      .filter(({ path }) =>
        [...reachedFrom(path, sources)].some((reached) => folderOf(reached) === 'engine/database'),
      );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it('one file executes the steps of a reader in their order', () => {
    const users = sources.filter(({ imports }) => imports.includes('engine/reading/read.ts'));
    // run-stream.ts asks it only whether a run finds what was deleted.
    expect(users.map(({ path }) => path).filter((path) => path !== 'engine/sync/run-stream.ts')).toEqual([
      'engine/sync/run-steps.ts',
    ]);
  });

  it('a follow-up passes at most 15 files and changes folder at most five times, as docs/design.md draws its path', () => {
    const drawn = readFileSync(join(ROOT, 'docs/design.md'), 'utf8').split('\n### A follow-up from')[1] ?? '';
    const table = drawn.split('\n### ')[0] ?? '';
    const way = [...table.matchAll(/^\| `([\w/-]+\.ts)`/gm)].map(([, path = '']) => path);
    expect(way.length).toBeGreaterThan(5);
    expect(way.length).toBeLessThanOrEqual(15);
    const changes = way.filter((path, at) => at > 0 && folderOf(path) !== folderOf(way[at - 1] ?? ''));
    expect(changes.length).toBeLessThanOrEqual(5);
    // Two neighbours on the way import one another; loading receives a stream as a declaration.
    const known = way.filter((path) => folderOf(path) !== 'engine/streams');
    const isNextTo = (one: string, other: string): boolean =>
      reachedFrom(one, sources).has(other) || reachedFrom(other, sources).has(one);
    expect(known.filter((path, at) => at > 0 && !isNextTo(known[at - 1] ?? '', path))).toEqual([]);
    expect(way.filter((path) => !sources.some((file) => file.path === path))).toEqual([]);
  });

  it('an indirect import that evades a rule is found', () => {
    const file = (path: string, ...imports: string[]) => ({ path, imports, text: '', packages: [] });
    const files = [file('reading/a', 'shared/b'), file('shared/b', 'database/c'), file('database/c')];
    expect([...reachedFrom('reading/a', files)]).toEqual(['shared/b', 'database/c']);
  });
});

describe('the folders around a run', () => {
  const importersOf = (path: string): string[] =>
    sources.filter(({ imports }) => imports.includes(path)).map((one) => one.path);

  it('files that decide and word alerts do not reach the files that send them', () => {
    const senders = ['channel', 'mail', 'webhook', 'notifier'].map((name) => `operate/alerts/${name}.ts`);
    const wrong = ['plan-alerts', 'message']
      .map((name) => `operate/alerts/${name}.ts`)
      .flatMap((path) => [...reachedFrom(path, sources)].map((reached) => [path, reached] as const))
      .filter(([, reached]) => senders.includes(reached));
    expect(wrong).toEqual([]);
  });

  it('one file sends mail, and sent alerts are recorded in the folder of alerts', () => {
    const mailers = sources.filter(({ packages }) => packages.includes('nodemailer')).map(({ path }) => path);
    expect(mailers).toEqual(['operate/alerts/mail.ts']);
    expect(
      importersOf('operate/alerts/outbox.ts').filter((path) => folderOf(path) !== 'operate/alerts'),
    ).toEqual([
      'cli/verbs/alerts.ts',
      'operate/worker/scheduled-report.ts',
      'operate/worker/what-is-wrong.ts',
    ]);
  });

  it('only the settings and the people of engine/privacy are imported from outside, and readers reach no pseudonyms', () => {
    const outside = sources
      .filter(({ path }) => folderOf(path) !== 'engine/privacy')
      .flatMap(({ imports }) => imports.filter((path) => folderOf(path) === 'engine/privacy'));
    expect([...new Set(outside)].sort()).toEqual(['engine/privacy/people.ts', 'engine/privacy/settings.ts']);
    const readers = sources.filter(({ path }) =>
      ['engine/api', 'engine/streams', 'engine/reading'].includes(folderOf(path)),
    );
    const wrong = readers.filter(({ path }) => reachedFrom(path, sources).has('shared/pseudonym.ts'));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it('the privacy key becomes pseudonyms in two files, because loading receives them', () => {
    const makers = sources.filter(({ text }) => text.includes('createPseudonyms(')).map(({ path }) => path);
    expect(makers.sort()).toEqual([
      'engine/privacy/settings.ts',
      'engine/sync/forget.ts',
      'shared/pseudonym.ts',
    ]);
  });

  it('the row of a record is removed by retention, or when two ids became one forgotten person', () => {
    const removers = sources.filter(({ text }) => /delete from \$\{target\((?:\w+\.)?parent\)/.test(text));
    expect(removers.map(({ path }) => path).sort()).toEqual([
      'engine/history/retention.ts',
      'engine/privacy/clean-stored.ts',
    ]);
  });

  it('row-level security policies are written in one file', () => {
    const policies = /\b(?:create|alter|drop) policy\b|able row level security\b/;
    const users = sources.filter(({ text }) => policies.test(text)).map(({ path }) => path);
    expect(users.sort()).toEqual(['warehouse/access.ts']);
  });
});

/** Names that a file exports, without tables and schemas of the database. */
function exportedBy(text: string): string[] {
  const exported = /^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)(.*)$/gm;
  return [...text.matchAll(exported)]
    .filter(([, , rest = '']) => !/Schema\.table\(|pgSchema\(/.test(rest))
    .map(([, name = '']) => name);
}

/** `path name` of everything of `src` that the files of a folder import; `path *` of files that are imported as a whole. */
function readNamedImports(folder: string): string[] {
  const named = /(?:import|export)\s+(?:type\s+)?(\*|\{[^}]*\})[^'{};]*from\s*'(\.[^']*)'/g;
  const late = /(\{[^{}]*\})\s*=\s*await import\(\s*'(\.[^']*)'/g;
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, folder, file), 'utf8');
      // `(await import('./sync.ts')).sync`
      const one = [...text.matchAll(/\(await import\('(\.[^']*)'\)\)\.(\w+)/g)].map(
        ([all, from = '', name = '']) => [all, name, from],
      );
      return [...text.matchAll(named), ...text.matchAll(late), ...one].flatMap(
        ([, names = '', from = '']) => {
          const path = relative(SRC, join(ROOT, folder, dirname(file), from)).replaceAll('\\', '/');
          return names
            .replace(/^\{|\}$/g, '')
            .split(',')
            .map(
              (name) =>
                `${path} ${
                  name
                    .trim()
                    .replace(/^type\s+/, '')
                    .split(/[\s:]/)[0] ?? ''
                }`,
            );
        },
      );
    });
}

describe('files', () => {
  it('only the entry file reads the environment of the process, and the variables of curl and libpq are read where they count', () => {
    const readers = sources.filter(({ text }) => /process\.env\b/.test(text)).map(({ path }) => path);
    expect(readers.sort()).toEqual(['engine/database/database-url.ts', 'main.ts', 'shared/http-agent.ts']);
  });

  it('every file has at most 300 lines', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 300).map(({ path }) => path);
    expect(long).toEqual([]);
  });

  it('every file has a name in kebab-case', () => {
    const odd = sources.filter(
      ({ path }) => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.ts$/.test(path),
    );
    expect(odd.map(({ path }) => path)).toEqual([]);
  });

  it('every export has a name', () => {
    expect(sources.filter(({ text }) => /^export default\b/m.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('every export has an importer, except tables and schemas, which drizzle-kit reads', () => {
    const imported = new Set(['src', 'test', 'bench'].flatMap(readNamedImports));
    const unused = sources
      .filter(({ path }) => path !== 'sandbox/index.ts')
      .filter(({ path }) => !imported.has(`${path} *`))
      .flatMap(({ path, text }) => exportedBy(text).map((name) => `${path} ${name}`))
      .filter((one) => !imported.has(one));
    expect(unused).toEqual([]);
  });

  it('an export without an importer is found', () => {
    const text = 'export const a = 1;\nexport async function b() {}\nexport const c = safetySchema.table(1);';
    expect(exportedBy(text)).toEqual(['a', 'b']);
  });

  it('no file decides by the text of an error, because recovery and code exist for that', () => {
    const wrong = sources.filter(({ text }) => /\.message\.(includes|startsWith|match)\(/.test(text));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});
