/** Draws the figures that have a floor, as SVG: how many rows a second, and how many one COPY of them does. */
import { writeFile } from 'node:fs/promises';
import { createPen } from '../../src/report/page/draw.ts';
import type { Figure } from './figures.ts';

export async function writePlot(file: string, figures: readonly Figure[]): Promise<void> {
  const { plot: Plot } = await createPen();
  const { parseHTML } = await import('linkedom');
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as { document: object };
  const shown = figures.filter((figure) => figure.floorRowsPerSecond !== null);
  const bars = shown.map(({ figure, rowsPerSecond }) => ({ figure, rows: rowsPerSecond / 1000 }));
  const floors = shown.map(({ figure, floorRowsPerSecond }) => ({
    figure,
    rows: (floorRowsPerSecond ?? 0) / 1000,
  }));
  const svg = Plot.plot({
    document: document as never,
    width: 900,
    height: 60 + shown.length * 34,
    marginLeft: 270,
    style: { background: 'white', color: 'black', fontSize: '13px' },
    x: { label: 'thousand rows a second (line: one COPY of the same rows)', grid: true },
    y: { label: null, domain: shown.map(({ figure }) => figure) },
    marks: [
      Plot.barX(bars, { x: 'rows', y: 'figure', fill: '#4c78a8' }),
      Plot.tickX(floors, { x: 'rows', y: 'figure', stroke: '#b5372f', strokeWidth: 2 }),
      Plot.text(bars, {
        x: 'rows',
        y: 'figure',
        text: ({ rows }: { rows: number }) => rows.toFixed(0),
        dx: 6,
        textAnchor: 'start',
      }),
    ],
  }) as unknown as { outerHTML: string };
  const namespaced = svg.outerHTML.includes('xmlns=')
    ? svg.outerHTML
    : svg.outerHTML.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');
  await writeFile(file, `${namespaced}\n`);
}
