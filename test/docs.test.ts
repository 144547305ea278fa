import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { buildProgram } from '../src/cli/program.ts';
import { VARIABLES } from '../src/config/variables.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const readme = read('README.md');

/** Every page of documentation, written by hand or generated. */
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

const program = await buildProgram(() => Promise.resolve());
const verbs = program.commands.map((command) => command.name());

it('every variable in the documents exists', () => {
  const beside = [
    'NAME_FILE',
    'SAFETY_TOKEN_FILE',
    'NO_COLOR',
    'SAFETY_SYNC_CONTAINER',
    'NODE_EXTRA_CA_CERTS',
    'HTTPS_PROXY',
    'NO_PROXY',
  ];
  const ofTests = [
    'TEST_DATABASE_URL',
    'TEST_CITUS_URL',
    'TEST_CITUS_IMAGE',
    'TEST_POSTGRES_IMAGE',
    'TEST_CHROMIUM',
  ];
  const ofCompose = [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map((match) => match[1] ?? '');
  const known = new Set([...Object.keys(VARIABLES), ...beside, ...ofTests, ...ofCompose]);
  for (const page of PAGES) {
    const named = [...read(page).matchAll(/`([A-Z]+(?:_[A-Z]+)+)[`=]/g)].map((match) => match[1] ?? '');
    const isKnown = (name: string) =>
      // OpenTelemetry has variables of its own.
      known.has(name) || known.has(name.replace(/_FILE$/, '')) || name.startsWith('OTEL_');
    expect(
      named.filter((name) => !isKnown(name)),
      page,
    ).toEqual([]);
  }
});

it('the README links to every page', () => {
  const ofIt = new Set([...readme.matchAll(/\]\(([^)#]+)/g)].map((match) => match[1] ?? ''));
  expect(PAGES.filter((page) => page !== 'README.md' && !ofIt.has(page))).toEqual([]);
});

/** The anchors that headings of a page get where it is rendered. */
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

it.each([...PAGES, 'CHANGELOG.md'])('every link of %s leads to an existing file and heading', (page) => {
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

it.each([...PAGES, 'Dockerfile', 'docker-compose.yml'])('%s calls only verbs that exist', (path) => {
  const text = read(path);
  const called = [
    ...text.matchAll(/(?:npx safety-sync|`safety-sync|main\.js) ([a-z][a-z-]+)/g),
    ...text.matchAll(/^(?:CMD|\s*command:) \[['"]?([a-z-]+)/gm),
  ].map((match) => match[1] ?? '');
  expect(called.filter((verb) => !verbs.includes(verb))).toEqual([]);
});
