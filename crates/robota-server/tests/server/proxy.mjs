// Forwards HTTP requests to URL and adds the token, for clients that cannot send one. Prints its own
// address.

import http from "node:http";

const target = new URL(process.env.URL);
const server = http.createServer((request, response) => {
  // The name by which a client reaches the server is checked there, with the port of the server.
  const own = request.headers.host?.replace(`:${server.address().port}`, `:${target.port}`);
  const origin = request.headers.origin?.replace(`:${server.address().port}`, `:${target.port}`);
  const headers = { ...request.headers, host: own, authorization: `Bearer ${process.env.TOKEN}` };
  if (origin) headers.origin = origin;
  const options = { host: target.hostname, port: target.port, path: request.url, method: request.method, headers };
  const forwarded = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  forwarded.on("error", () => response.destroy());
  response.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}${target.pathname}`));
