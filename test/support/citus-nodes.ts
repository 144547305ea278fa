/**
 * Creates databases on every node of a Citus cluster, because each node stores a share of the rows. A single PostgreSQL is
 * one node.
 */
import postgres from 'postgres';

/** Work on a connection of its own. */
export async function onServer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

export function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** URLs of all nodes, the coordinator first; only `url` if it is no coordinator. */
export async function nodesOf(url: string): Promise<readonly string[]> {
  return await onServer(url, async (sql) => {
    const [citus] = await sql`select from pg_extension where extname = 'citus'`;
    if (citus === undefined) return [url];
    const workers = await sql<{ host: string; port: number }[]>`
      select nodename as host, nodeport as port from pg_dist_node where groupid <> 0 and isactive order by nodeid`;
    return [
      url,
      ...workers.map(({ host, port }) => {
        const node = new URL(url);
        node.hostname = host;
        node.port = String(port);
        return node.href;
      }),
    ];
  });
}

/** Makes a server with the extension a coordinator that stores rows itself. */
export async function makeCoordinator(url: string): Promise<void> {
  await onServer(url, async (sql) => {
    await sql`create extension if not exists citus`;
    const [own] = await sql<{ port: number }[]>`select current_setting('port')::int as port`;
    const port = own?.port ?? 5432;
    await sql`select citus_set_coordinator_host('localhost', ${port})`;
    await sql`select citus_set_node_property('localhost', ${port}, 'shouldhaveshards', true)`;
  });
}

interface Node {
  readonly host: string;
  readonly port: number;
  readonly is_coordinator: boolean;
  readonly holds_rows: boolean;
}

/** Adds the empty database `name` to the cluster: the extension on every node, and the nodes at the coordinator. */
export async function joinCluster(nodes: readonly string[], name: string): Promise<void> {
  const [coordinator = ''] = nodes;
  for (const node of nodes) {
    await onServer(inDatabase(node, name), (sql) => sql`create extension citus`);
  }
  // The nodes' internal addresses, because containers are reachable under other addresses from outside.
  const cluster = await onServer(
    coordinator,
    (sql) =>
      sql<Node[]>`
      select nodename as host, nodeport as port, groupid = 0 as is_coordinator, shouldhaveshards as holds_rows
      from pg_dist_node where isactive order by groupid`,
  );
  await onServer(inDatabase(coordinator, name), async (sql) => {
    for (const { host, port, is_coordinator, holds_rows } of cluster) {
      if (is_coordinator) await sql`select citus_set_coordinator_host(${host}, ${port})`;
      else await sql`select citus_add_node(${host}, ${port})`;
      await sql`select citus_set_node_property(${host}, ${port}, 'shouldhaveshards', ${holds_rows})`;
    }
  });
}
