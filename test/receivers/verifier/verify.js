// verify.js SECRET...: for each secret, whether the official verifier of Standard Webhooks accepts the request that
// standard input tells of in JSON (headers, body_base64): "accepted" or why not, a line each.
import fs from "node:fs";
import { Webhook } from "standardwebhooks";

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const body = Buffer.from(request.body_base64, "base64").toString("utf8");
for (const secret of process.argv.slice(2)) {
	try {
		new Webhook(secret).verify(body, request.headers);
		console.log("accepted");
	} catch (error) {
		console.log(error.message);
	}
}
