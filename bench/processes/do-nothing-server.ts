/** The do-nothing server: the same HTTP framework reads the same request and answers 202, and that is all. */
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { answerParent } from '../child.js';
import { PATH } from '../pushes.js';

/** As long as a real acknowledgement. */
const ANSWER = JSON.stringify({
  receipt: `rcp_${'0'.repeat(26)}`,
  events: 1,
  duplicate: false,
  conflict: false,
});

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.post(PATH, (_request, reply) => void reply.code(202).type('application/json').send(ANSWER));

answerParent(
  {
    listen: async () => {
      await app.listen({ host: '127.0.0.1', port: 0 });
      return (app.server.address() as AddressInfo).port;
    },
  },
  () => app.close(),
);
