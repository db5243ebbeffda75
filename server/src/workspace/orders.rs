//! Open streams that are told how to behave.

use std::sync::Arc;

use super::Workspace;
use super::settle::Patience;
use crate::connection::Cut;
use crate::faults::verb::How;
use crate::stream::{End, OpenStream, Order};

impl Workspace {
    /// Tells the open streams of a session how to behave. Returns the ids of those that it concerns, once they have
    /// obeyed, or can't.
    pub(crate) async fn order_streams(self: &Arc<Self>, session_id: &str, order: Order) -> Vec<String> {
        let (epoch, now) = (self.epoch(), self.clock.now());
        let is_concerned = |stream: &Arc<OpenStream>| {
            let is_silent = stream.is_held(now) || stream.order() == Order::Stall;
            let has_sense = stream.order().end().is_none() && (order != Order::Go || is_silent);
            stream.place().1 == epoch && stream.session_id == session_id && has_sense
        };
        let streams: Vec<_> = self.streams.list().into_iter().filter(is_concerned).collect();
        streams.iter().for_each(|stream| stream.give(order));
        let mut patience = Patience::default();
        for stream in &streams {
            patience.wait(self.obeyed(stream, order)).await;
        }
        patience.settled(self).await;
        streams.iter().map(|stream| stream.id.clone()).collect()
    }

    /// Returns once `stream` has done what it was told, or can't since its client doesn't read. What needs no client
    /// for it is done all the same.
    async fn obeyed(&self, stream: &OpenStream, order: Order) {
        let is_open = || self.streams.is_open(stream);
        let is_done = || match order {
            Order::Go => !stream.is_held(self.clock.now()),
            Order::Stall => stream.is_held(self.clock.now()),
            Order::End(_) => false,
        };
        self.until(|| !is_open() || is_done() || stream.is_stuck()).await;
        let cut = match order {
            Order::End(End::Close(How::Abort)) => Cut::Fin,
            Order::End(End::Close(How::Rst)) => Cut::Rst,
            Order::Go | Order::Stall | Order::End(End::Close(How::Fin) | End::Resync) => return,
        };
        if let Some(connection) = stream.connection().filter(|_| is_open()) {
            connection.cut(cut);
            connection.closed().await;
        }
    }
}
