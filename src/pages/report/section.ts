/** A section of the safety report, with a hint where it has no data. */
import { html, type Html, type HtmlValue } from '../html.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Report } from './read-report.ts';

export function empty(sentence: string): Html {
  return html`<p class="empty">${sentence}</p>`;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: HtmlValue;
}

export function renderSection({ id, title, body }: Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${body}
  </section>`;
}

interface StreamSection extends Omit<Section, 'body'> {
  /** The stream of its data. */
  readonly stream: StreamName;
  readonly hasRows: boolean;
  /** The result in one sentence. */
  readonly lead: string;
  readonly body: () => HtmlValue;
}

/** Why the section is empty: never synced, or no records. */
function missing({ streams }: Report, { stream, title }: StreamSection): Html {
  const state = streams.find((one) => one.stream === stream);
  if (state?.lastSuccessMs != null) {
    return empty(`The service responded, and has none. There is nothing to show for ${title.toLowerCase()}.`);
  }
  const why =
    state?.failingWith === undefined
      ? 'This part of the service was not read yet.'
      : `The last attempt to read this part of the service failed (${state.failingWith}).`;
  const types =
    stream === 'equipments' &&
    html` Equipment is read for the types named in <code>SAFETY_EQUIPMENT_TYPES</code>.`;
  return html`<p class="empty">
    ${why}${types} Next step: <code>safety-sync sync ${stream}</code>, then write this report again. If that
    fails, <code>safety-sync check</code> says why.
  </p>`;
}

export function streamSection(report: Report, options: StreamSection): Section {
  const { id, title, hasRows, lead, body } = options;
  return {
    id,
    title,
    body: hasRows ? [html`<p class="lead">${lead}</p>`, body()] : missing(report, options),
  };
}
