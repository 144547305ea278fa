/** Plots as files of their own; the report puts its charts into a page instead. */
import type * as ObservablePlot from '@observablehq/plot';
import { createChartRenderer, type Plot } from '../../src/pages/report/draw.ts';

export async function drawSvg(options: (plot: Plot) => ObservablePlot.PlotOptions): Promise<string> {
  const { plot } = await createChartRenderer();
  const { parseHTML } = await import('linkedom');
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as { document: object };
  const style = { background: 'white', color: 'black', fontSize: '13px' };
  const { outerHTML: text } = plot.plot({
    style,
    ...options(plot),
    document: document as never,
  }) as unknown as { outerHTML: string };
  return `${text.includes('xmlns=') ? text : text.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"')}\n`;
}
