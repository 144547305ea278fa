/** Draws the figures that have a floor, as SVG: how many rows a second, and how many one COPY of them does. */
import { writeFile } from 'node:fs/promises';
import type { Figure } from './figures.ts';
import { drawSvg } from './svg.ts';

export async function writePlot(file: string, figures: readonly Figure[]): Promise<void> {
  const shown = figures.filter((figure) => figure.floorRowsPerSecond !== null);
  const bars = shown.map(({ figure, rowsPerSecond }) => ({ figure, rows: rowsPerSecond / 1000 }));
  const floors = shown.map(({ figure, floorRowsPerSecond }) => ({
    figure,
    rows: (floorRowsPerSecond ?? 0) / 1000,
  }));
  const svg = await drawSvg((plot) => ({
    width: 900,
    height: 60 + shown.length * 34,
    marginLeft: 290,
    marginBottom: 45,
    x: { label: 'thousand rows a second (line: one COPY of the same rows)', labelOffset: 38, grid: true },
    y: { label: null, domain: shown.map(({ figure }) => figure) },
    marks: [
      plot.barX(bars, { x: 'rows', y: 'figure', fill: '#4c78a8' }),
      plot.tickX(floors, { x: 'rows', y: 'figure', stroke: '#b5372f', strokeWidth: 2 }),
      plot.text(bars, {
        x: 'rows',
        y: 'figure',
        text: ({ rows }: { rows: number }) => rows.toFixed(0),
        dx: 6,
        textAnchor: 'start',
      }),
    ],
  }));
  await writeFile(file, svg);
}
