# syntax=docker/dockerfile:1

# The server, the dashboard, the workers and the command line in one small image: what `npm install millrace pg ioredis` gives, and Node.
#
#   docker build -t millrace .
#   docker run --rm millrace --help
#
# Copy or mount your handlers below /app, where they can import `millrace`, and name them with --handlers.

FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# No install scripts: only the tests need them.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json vite.config.ts vite.package.config.ts README.md CHANGELOG.md LICENSE llms.txt ./
COPY src src
# No set-up either: the packages are there.
RUN npm run build --ignore-scripts && npm pack --ignore-scripts --pack-destination /tmp && mv /tmp/millrace-*.tgz /tmp/millrace.tgz

FROM node:24-slim AS install
WORKDIR /app
COPY --from=build /tmp/millrace.tgz /tmp/millrace.tgz
RUN npm init --yes > /dev/null && npm pkg set type=module && npm install --omit=dev --ignore-scripts --no-audit --no-fund /tmp/millrace.tgz pg@8 ioredis@6

FROM node:24-slim
# Others can reach a container, so the server needs API_KEY and DASHBOARD_PASSWORD: without them it prints an error and does not start.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 MILLRACE_URL=sqlite:/data/millrace.db
WORKDIR /app
COPY --from=install /app ./
# The number of the user `node`, so that Kubernetes can see that it is not root.
RUN mkdir /data && chown 1000:1000 /data
USER 1000:1000
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# For `start` and `server`. A worker has no port: switch the check off there.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8080) + '/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "node_modules/millrace/dist/cli/main.js"]
CMD ["start"]
