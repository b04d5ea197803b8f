import { type FastifyInstance, fastify } from 'fastify';
import { ERRORS, LaneheadError } from '../core/errors.js';

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

const NOT_SERVED = JSON.stringify({
  type: 'urn:lanehead:error:not_found',
  title: ERRORS.not_found.title,
  status: ERRORS.not_found.status,
  code: 'not_found',
  detail: 'GET /livez, /readyz or /metrics.',
});

/**
 * Health and metrics on a port of its own, for those who must not reach the webhook port. Loopback only: what else will
 * be served here is for operators.
 * @param handle answers `/livez` and `/readyz`
 * @param scrape answers `/metrics`
 */
export async function openAdminListener(
  address: { readonly host?: string; readonly port: number },
  handle: (request: Request) => Promise<Response>,
  scrape: () => Promise<{ readonly contentType: string; readonly text: string }>,
): Promise<{ url: string; close(): Promise<void> }> {
  const host = address.host ?? '127.0.0.1';
  if (!LOOPBACK.includes(host)) {
    throw new LaneheadError('invalid_configuration', `the admin listener binds loopback only, not ${host}`);
  }
  const app: FastifyInstance = fastify();
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).type('application/problem+json').send(NOT_SERVED),
  );
  for (const path of ['/livez', '/readyz']) {
    app.get(path, async (_request, reply) => {
      const response = await handle(new Request(`http://admin${path}`));
      return await reply
        .code(response.status)
        .header('content-type', response.headers.get('content-type') ?? 'application/json')
        .send(await response.text());
    });
  }
  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await scrape();
    return await reply.header('content-type', contentType).send(text);
  });
  const url = await app.listen({ host, port: address.port });
  return { url, close: async () => void (await app.close()) };
}
