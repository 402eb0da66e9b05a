/**
 * Mounts the service in NestJS 11 on its Express platform, as a middleware of the app. This file
 * calls decorators as functions. If your build compiles decorators, write them with `@`.
 *
 *     node --import tsx examples/nestjs.ts
 */
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { nodeHandler } from 'store-orders';
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

const app = await NestFactory.create(AppModule, { logger: false });
app.use(nodeHandler(service));
await app.listen(port, '127.0.0.1');
console.log('listening on', await app.getUrl());
