/**
 * Mounts the service in NestJS 11 on its Fastify platform. It uses the plugin for Fastify, so that
 * Fastify's hooks still run.
 *
 *     node --import tsx examples/nestjs-fastify.ts
 */
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { fastifyPlugin } from 'store-orders/fastify';
import { port, service } from './orders.ts';

class HomeController {
  home(): string {
    return 'the host\n';
  }
}
Controller()(HomeController);
Get()(HomeController.prototype, 'home', { value: HomeController.prototype.home });

class AppModule {}
Module({ controllers: [HomeController] })(AppModule);

const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), { logger: false });
await app.register(fastifyPlugin(service));
await app.listen(port, '127.0.0.1');
console.log('listening on', await app.getUrl());
