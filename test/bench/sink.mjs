// An HTTP server that answers 200 to everything and counts keys. Prints "ready PORT"; a GET is answered with the count.
import http from "node:http";
const keys = new Set();
http.createServer((request, response) => {
	if (request.method === "GET") {
		response.end(String(keys.size));
		return;
	}
	request.on("data", () => {});
	request.on("end", () => {
		keys.add(request.headers["idempotency-key"]);
		response.end("ok");
	});
}).listen(0, "127.0.0.1", function () {
	console.log(`ready ${this.address().port}`);
});
