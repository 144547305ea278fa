/** The verb as users run it, and its page in a real browser. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER, visit } from '../support/browser.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { GIVEN_PAST } from '../support/given-past.ts';
import { forAllTests } from '../support/lifetime.ts';
import { readWorkbook } from '../support/read-workbook.ts';
import { inProof } from '../support/proof.ts';
import { LIST_NAMES } from '../../src/pages/report/lists.ts';

const EVIL = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`;

// Synced by the verb, which records the name of the service.
const fixture = forAllTests(() => createCliFixture());
beforeAll(async () => {
  expect((await fixture.run(['sync'])).code).toBe(0);
  for (const statement of GIVEN_PAST) await fixture.query(statement);
  await fixture.query('analyze');
});

const fileOf = (name: string) => join(fixture.cli.directory, name);
const run = (...args: string[]) => fixture.run(['report', ...args]);

describe('the verb report', () => {
  it('report writes safety-report.html into the working directory and prints its path', async () => {
    const { code, stdout } = await fixture.cli.run(['report'], fixture.env);
    expect(stdout).toBe(`The report is in ${fileOf('safety-report.html')}: open it in a browser.\n`);
    expect(code).toBe(0);
    expect(await readFile(fileOf('safety-report.html'), 'utf8')).toContain('<h1>Safety report</h1>');
    expect((await readdir(fixture.cli.directory)).filter((name) => name.includes('.tmp'))).toEqual([]);
  });

  it('report writes the lists as CSV files and as a workbook, alone or with the page, which links to them', async () => {
    const alone = await run('--csv', fileOf('lists/of-today'), '--xlsx', fileOf('lists.xlsx'));
    expect(alone.stdout).toBe(
      `Every list with all its rows is in ${fileOf('lists/of-today')}.\nEvery list with all its rows is in the workbook ${fileOf('lists.xlsx')}.\n`,
    );
    expect(alone.code).toBe(0);
    expect((await readdir(fileOf('lists/of-today'))).length).toBe(LIST_NAMES.length);
    const links = { RECORD_URL_TEMPLATE_FOLLOWUP: 'https://service.example.com/f/{id}' };
    const files = ['--out', fileOf('lists/page.html'), '--xlsx', fileOf('lists.xlsx')];
    const both = await fixture.run(['report', ...files], links);
    expect(both.stdout).toContain(`The report is in ${fileOf('lists/page.html')}`);
    const page = await readFile(fileOf('lists/page.html'), 'utf8');
    expect(page).toContain('<a href="../lists.xlsx">workbook</a>');
    expect(page).toContain('<a href="https://service.example.com/f/');
    expect(readWorkbook(await readFile(fileOf('lists.xlsx'))).size).toBe(LIST_NAMES.length + 1);
  });

  it('report --area is of one area, and one that is not there is refused with 2 and those that are', async () => {
    const [office] = await fixture.query<{ label: string }>(
      'select min(label) as label from safety.people_field_offices',
    );
    const area = `field_office=${office?.label ?? ''}`;
    const page = await run('--area', area, '--out', '-');
    expect(page.stdout).toContain(`<h1>Office ${office?.label ?? ''}</h1>`);
    expect(page.stdout).toContain(`safety-sync report --area &#39;${area}&#39; --xlsx FILE --csv DIR`);
    const unknown = await run('--area', 'field_office=nowhere');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no office nowhere')]);
    expect((await run('--area', 'Houston')).code).toBe(2);
  });
});

describe.skipIf(NO_BROWSER !== null)(
  `the report in a browser${NO_BROWSER === null ? '' : ` (skipped: ${NO_BROWSER})`}`,
  () => {
    const evil = async (): Promise<string> => {
      await fixture.query(`update safety.users set name = '${EVIL.replaceAll("'", "''")}'`);
      expect((await run('--out', fileOf('page.html'))).code).toBe(0);
      return pathToFileURL(fileOf('page.html')).href;
    };

    it('a browser shows the charts of the report, runs no script from data and logs no error', async () => {
      const url = await evil();
      const { stdout: dom, complaints } = await visit(url);
      expect(complaints).toBe('');
      expect(dom).toMatch(/<title>Safety report: Northline Yards, \d+ \w+ 20\d\d<\/title>/);
      expect(dom.includes('&lt;script&gt;document.title')).toBe(true);
      expect(dom.match(/<script|<img/g)).toBeNull();
      expect(dom).toContain('<svg ');
    });

    inProof(() => {
      it('the report needs no horizontal scrolling on a phone, a tablet or a screen', async () => {
        expect((await run('--out', fileOf('page.html'))).code).toBe(0);
        const page = (await readFile(fileOf('page.html'), 'utf8'))
          .replaceAll('&', '&amp;')
          .replaceAll('"', '&quot;');
        const widths = [320, 900, 1600];
        // Uses frames, because windows have a minimum width; the outer script measures their content.
        const frames = widths.map(
          (width) => `<iframe width="${width}" height="900" srcdoc="${page}"></iframe>`,
        );
        await writeFile(
          fileOf('frames.html'),
          `<!doctype html><body onload="document.title = [...document.querySelectorAll('iframe')].map(
          (frame) => frame.contentDocument.documentElement.scrollWidth)">${frames.join('')}`,
        );
        const { stdout } = await visit(pathToFileURL(fileOf('frames.html')).href);
        const needed = (/<title>([\d,]+)<\/title>/.exec(stdout)?.[1] ?? '').split(',').map(Number);
        expect(needed).toHaveLength(widths.length);
        expect(needed.filter((width, at) => width > (widths[at] ?? 0))).toEqual([]);
      });
    });
  },
);
