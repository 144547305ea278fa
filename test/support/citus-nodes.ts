/** Databases on every node of a Citus cluster: each has to be made where its rows will be. On one PostgreSQL there is one node. */
import postgres from 'postgres';

const open = (url: string): postgres.Sql =>
  postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });

export function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** URLs of all nodes, the coordinator's first; only `url` where it is no coordinator. */
export async function nodesOf(url: string): Promise<readonly string[]> {
  const sql = open(url);
  try {
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
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Makes the empty database `name` a part of the cluster: the extension everywhere, and at the coordinator the nodes. */
export async function joinCluster(nodes: readonly string[], name: string): Promise<void> {
  for (const node of nodes) {
    const sql = open(inDatabase(node, name));
    await sql`create extension citus`;
    await sql.end({ timeout: 5 });
  }
  const [coordinator = '', ...workers] = nodes.map((node) => new URL(node));
  if (coordinator === '') return;
  const sql = open(inDatabase(coordinator.href, name));
  await sql`select citus_set_coordinator_host(${coordinator.hostname}, ${Number(coordinator.port)})`;
  for (const { hostname, port } of workers) await sql`select citus_add_node(${hostname}, ${Number(port)})`;
  await sql.end({ timeout: 5 });
}
