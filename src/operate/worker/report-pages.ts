/** `/report` and its downloads, with HTTP_REPORT. Each is made at most once in five minutes, one after the other. */
import { buffer, text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import type { App } from '../../app.ts';
import { type Area, areaText, parseArea } from '../../pages/report/area.ts';
import { LIST_NAMES } from '../../pages/report/lists.ts';
import { readReport, type Snapshot } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { toCsv, toWorkbook } from '../../pages/report/take-along.ts';
import { WORKBOOK_TYPE } from '../../pages/report/workbook.ts';
import { toDatabaseError } from '../../engine/database/database-error.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import { htmlPage, type HttpPage, jsonPage, type Routes } from './http-server.ts';

const KEPT_MS = 5 * MINUTE_MS;

/** Its style is in the page; nothing else is allowed. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

const fileOf = (name: string, contentType: string, body: string | Uint8Array): HttpPage => ({
  status: 200,
  contentType,
  body,
  headers: { 'content-disposition': `attachment; filename="${name}"` },
});

type Make = (snapshot: Snapshot, query: string, title: string | null) => Promise<HttpPage>;

const FILES: Readonly<Record<string, Make>> = {
  '/report': ({ report }, query, title) => {
    const along = {
      xlsx: `report.xlsx${query}`,
      csvOf: (list: string) => `report/${list}.csv${query}`,
      reportOf: (area: Area) => {
        const of = new URLSearchParams(query);
        of.set('area', areaText(area));
        return `report?${of.toString()}`;
      },
    };
    return Promise.resolve(htmlPage(renderReport(report, { title, along }), POLICY));
  },
  '/report.xlsx': async (snapshot) =>
    fileOf('safety-report.xlsx', WORKBOOK_TYPE, await buffer(toWorkbook(snapshot))),
  ...Object.fromEntries(
    LIST_NAMES.map((list) => [
      `/report/${list}.csv`,
      async (snapshot: Snapshot) =>
        fileOf(`${list}.csv`, 'text/csv; charset=utf-8', await text(toCsv(snapshot, list))),
    ]),
  ),
};

/** `?account=NAME` where there are several; `?area=KIND=NAME` for one area. */
export function createReportPages({ accounts, connection, config, clock }: App): Routes {
  const kept = new Map<string, { readonly madeMs: number; readonly page: Promise<HttpPage> }>();
  const inTurn = pLimit(1);

  async function make(file: Make, account: App['accounts'][number], areaName: string | null) {
    const query = new URLSearchParams({
      ...(accounts.length > 1 ? { account: account.id } : {}),
      ...(areaName === null ? {} : { area: areaName }),
    }).toString();
    try {
      const asked = {
        accountId: account.id,
        area: areaName === null ? null : parseArea(areaName),
        recordUrls: config.recordUrls,
      };
      return await readReport(connection, asked, (snapshot) =>
        file(snapshot, query === '' ? '' : `?${query}`, account.config.reportTitle),
      );
    } catch (error) {
      const { code, message } = toDatabaseError(error);
      return jsonPage(code === 'usage_invalid' ? 404 : 503, { error: message, code });
    }
  }

  const routeOf = (path: string, file: Make) => async (query: URLSearchParams) => {
    const [name, area] = [query.get('account'), query.get('area')];
    const account =
      accounts.length === 1 && name === null ? accounts[0] : accounts.find(({ id }) => id === name);
    if (account === undefined)
      return jsonPage(404, {
        error: 'a report is of one account',
        choose: accounts.map(({ id }) => `${path}?account=${encodeURIComponent(id)}`),
      });
    const key = JSON.stringify([path, account.id, area]);
    const nowMs = clock.monotonicMs();
    for (const [one, { madeMs }] of kept) if (nowMs - madeMs >= KEPT_MS) kept.delete(one);
    const found = kept.get(key);
    const page = found?.page ?? inTurn(() => make(file, account, area));
    if (found === undefined) kept.set(key, { madeMs: nowMs, page });
    const made = await page;
    // A failed one is tried again at once.
    if (made.status !== 200) kept.delete(key);
    return made;
  };
  return Object.fromEntries(Object.entries(FILES).map(([path, file]) => [path, routeOf(path, file)]));
}
