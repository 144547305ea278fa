/**
 * The metrics of docs/dbt as SQL, in the way of MetricFlow. The schema is written by hand: the parts of dbt's published
 * JSON schema (dbt-jsonschema, dbt_yml_files) that the file uses.
 */
import * as z from 'zod';

const name = z.string().regex(/^(?!.*__)[a-z][a-z0-9_]*[a-z0-9]$/);
const text = z.string().min(1);

const dimension = z.discriminatedUnion('type', [
  z.strictObject({ name, type: z.literal('categorical'), expr: text.optional() }),
  z.strictObject({
    name,
    type: z.literal('time'),
    expr: text.optional(),
    type_params: z.strictObject({ time_granularity: z.literal('day') }),
  }),
]);

const measure = z.strictObject({
  name,
  agg: z.enum(['count', 'sum', 'sum_boolean', 'median', 'percentile']),
  expr: text,
  agg_time_dimension: name.optional(),
  agg_params: z
    .strictObject({
      percentile: z.number().min(0).max(1),
      use_discrete_percentile: z.literal(false),
      use_approximate_percentile: z.literal(false),
    })
    .optional(),
  non_additive_dimension: z
    .strictObject({ name, window_choice: z.literal('max'), window_groupings: z.array(name) })
    .optional(),
});

const semanticModel = z.strictObject({
  name,
  description: text,
  model: text.regex(/^ref\('\w+'\)$/),
  defaults: z.strictObject({ agg_time_dimension: name }).optional(),
  primary_entity: name.optional(),
  entities: z.array(
    z.strictObject({ name, type: z.enum(['primary', 'unique', 'foreign']), expr: text.optional() }),
  ),
  dimensions: z.array(dimension),
  measures: z.array(measure).optional(),
});

const named = { name, label: text, description: text.optional() };
const metric = z.discriminatedUnion('type', [
  z.strictObject({
    ...named,
    type: z.literal('simple'),
    type_params: z.strictObject({ measure: name }),
    filter: text.optional(),
  }),
  z.strictObject({
    ...named,
    type: z.literal('ratio'),
    type_params: z.strictObject({ numerator: name, denominator: name }),
  }),
]);

export const METRICS_FILE = z.strictObject({
  version: z.literal(2),
  semantic_models: z.array(semanticModel),
  metrics: z.array(metric),
});
export type MetricsFile = z.infer<typeof METRICS_FILE>;
type SemanticModel = z.infer<typeof semanticModel>;
type Measure = z.infer<typeof measure>;

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no such ${what}`);
  return value;
}

/** The expression of an entity or a dimension. */
function exprOf({ entities, dimensions }: SemanticModel, element: string): string {
  const { expr } = found(
    [...entities, ...dimensions].find((one) => one.name === element),
    `element: ${element}`,
  );
  return expr ?? element;
}

const primaryEntityOf = ({ entities, primary_entity: given }: SemanticModel): string | undefined =>
  given ?? entities.find(({ type }) => type === 'primary')?.name;

function timeOf(model: SemanticModel, { agg_time_dimension: own }: Measure): string {
  const time = found(own ?? model.defaults?.agg_time_dimension, `time dimension of ${model.name}`);
  found(
    model.dimensions.find((one) => one.name === time && one.type === 'time'),
    `time dimension: ${time}`,
  );
  return time;
}

function renderFilter(model: SemanticModel, filter: string): string {
  return filter.replace(/\{\{ Dimension\('(\w+?)__(\w+)'\) \}\}/g, (_, entity: string, element: string) => {
    if (entity !== primaryEntityOf(model))
      throw new Error(`${model.name} has another primary entity than ${entity}`);
    return exprOf(model, element);
  });
}

function renderAggregate({ agg, expr, agg_params: params }: Measure): string {
  const percentile = (share: number) => `percentile_cont(${share}) within group (order by (${expr}))`;
  switch (agg) {
    case 'count':
      return `sum(case when (${expr}) is not null then 1 else 0 end)`;
    case 'sum':
      return `sum(${expr})`;
    case 'sum_boolean':
      return `sum(case when ${expr} then 1 else 0 end)`;
    case 'median':
      return percentile(0.5);
    case 'percentile':
      return percentile(found(params?.percentile, 'percentile'));
  }
}

export interface MetricQuery {
  /** An entity or a dimension of the metric's own semantic model, or metric_time by a granularity. */
  readonly by?: string;
  readonly accountId?: string;
}

/** Selects `value`, and its group as `by`. `toRelation`: of `ref('…')`. */
export function metricSql(
  file: MetricsFile,
  metricName: string,
  toRelation: (ref: string) => string,
  query: MetricQuery = {},
): string {
  const wanted = found(
    file.metrics.find((one) => one.name === metricName),
    `metric: ${metricName}`,
  );
  if (wanted.type === 'ratio') {
    const part = (one: string) => metricSql(file, one, toRelation, query);
    return `select n.by, n.value::float8 / nullif(d.value, 0)::float8 as value
      from (${part(wanted.type_params.numerator)}) n
      join (${part(wanted.type_params.denominator)}) d on d.by is not distinct from n.by`;
  }
  const measureName = wanted.type_params.measure;
  const semantic = found(
    file.semantic_models.find((one) => one.measures?.some((other) => other.name === measureName)),
    `measure: ${measureName}`,
  );
  const measured = found(
    semantic.measures?.find((one) => one.name === measureName),
    `measure: ${measureName}`,
  );
  const by = /^metric_time__(\w+)$/.exec(query.by ?? '');
  const group =
    by === null
      ? query.by === undefined
        ? 'null'
        : `(${exprOf(semantic, query.by)})::text`
      : `date_trunc('${by[1] ?? ''}', ${exprOf(semantic, timeOf(semantic, measured))})::date::text`;
  const where = [
    ...(wanted.filter === undefined ? [] : [renderFilter(semantic, wanted.filter)]),
    ...(query.accountId === undefined ? [] : [`account_id = '${query.accountId}'`]),
  ].map((one) => `(${one})`);
  const rows = `select *, ${group} as by from ${toRelation(semantic.model)}
    ${where.length === 0 ? '' : `where ${where.join(' and ')}`}`;
  const last = measured.non_additive_dimension;
  if (last === undefined)
    return `select by, ${renderAggregate(measured)} as value from (${rows}) r group by 1`;
  const day = exprOf(semantic, last.name);
  // The last day of each group counts; groups by another column than the time have the last day of all.
  const windows = [
    ...last.window_groupings.map((one) => exprOf(semantic, one)),
    ...(by === null ? [] : ['by']),
  ];
  const partition = windows.length === 0 ? '' : `partition by ${windows.join(', ')}`;
  return `select by, ${renderAggregate(measured)} as value
    from (select *, max(${day}) over (${partition}) as last_day from (${rows}) r) r
    where ${day} = last_day group by 1`;
}
